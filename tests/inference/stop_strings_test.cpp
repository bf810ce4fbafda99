#include "tessera/inference/stop_strings.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "tessera/core/random.h"

namespace tessera::inference {
namespace {

TEST(StopStrings, HoldsBackWhatMayBeginAStopString) {
    StopStrings text({"\n\nUser:", "END"});
    EXPECT_EQ(text.add("hello\n"), "hello");
    EXPECT_EQ(text.add("\nU"), "");
    EXPECT_EQ(text.add("nder"), "\n\nUnder");
    EXPECT_EQ(text.add(" E"), " ");
    EXPECT_EQ(text.add("N"), "");
    EXPECT_FALSE(text.found());
    EXPECT_EQ(text.add("D and more"), "");
    EXPECT_TRUE(text.found());
    EXPECT_EQ(text.add("x"), "");
    EXPECT_EQ(text.finish(), "");
}

TEST(StopStrings, GivesWhatWasHeldBackAtTheEnd) {
    StopStrings text({"stop"});
    EXPECT_EQ(text.add("a sto"), "a ");
    EXPECT_EQ(text.finish(), "sto");
    testing::expect_error([] { StopStrings({"a", ""}); }, {"stop string"});
}

// Cut anywhere, the text before the first stop string comes out, and never more than is sure.
TEST(StopStrings, IsTheSameHoweverTheTextIsCut) {
    const std::vector<std::string> stops{"aab", "ba", "abbb"};
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        std::string whole;
        for (std::uint64_t i = 0; i < 12; ++i) whole += random_bits({seed, 0}, i) % 3 == 0 ? 'b' : 'a';
        std::size_t first = whole.npos;
        for (const std::string& stop : stops) first = std::min(first, whole.find(stop));
        StopStrings text(stops);
        std::string out;
        for (std::size_t at = 0; at < whole.size() && !text.found();) {
            const std::size_t count = 1 + random_bits({seed, 1}, at) % 4;
            out += text.add(whole.substr(at, count));
            at += count;
            EXPECT_TRUE(whole.starts_with(out));
        }
        if (!text.found()) out += text.finish();
        EXPECT_EQ(out, whole.substr(0, first));
        EXPECT_EQ(text.found(), first != whole.npos);
    }
}

}  // namespace
}  // namespace tessera::inference
