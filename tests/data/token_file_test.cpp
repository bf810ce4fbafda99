// Token files: what goes in comes out, and broken ones are refused or made anew; windows cut from them.
#include "tessera/data/token_file.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "tessera/core/error.h"
#include "tessera/data/packed_windows.h"

namespace tessera::data {
namespace {

using Documents = std::vector<std::vector<std::int64_t>>;

TokenFile written(const std::filesystem::path& path, const Documents& documents, const std::string& stamp = "stamp") {
    TokenFileWriter writer(path, stamp);
    for (const auto& document : documents) writer.add_document(document);
    writer.commit();
    return TokenFile(path);
}

TEST(TokenFile, HoldsWhatWasWritten) {
    const testing::TemporaryFolder folder;
    const TokenFile file = written(folder / "tokens", {{1, 2, 3}, {}, {4'000'000'000}, {5, 6, 7}}, "made of this");
    EXPECT_EQ(std::vector<std::uint32_t>(file.tokens().begin(), file.tokens().end()),
              (std::vector<std::uint32_t>{1, 2, 3, 4'000'000'000, 5, 6, 7}));
    EXPECT_EQ(std::vector<std::uint64_t>(file.document_ends().begin(), file.document_ends().end()),
              (std::vector<std::uint64_t>{3, 4, 7}));
    EXPECT_EQ(file.stamp(), "made of this");
}

TEST(TokenFile, MayBeEmptyAndMayBeLong) {
    const testing::TemporaryFolder folder;
    EXPECT_EQ(written(folder / "empty", {}).tokens().size(), 0u);
    std::vector<std::int64_t> many(600'001);
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int64_t>(i * 7 % 65'537);
    const TokenFile file = written(folder / "long", {many, many});
    ASSERT_EQ(file.tokens().size(), 2 * many.size());
    for (std::size_t i = 0; i < many.size(); i += 997) EXPECT_EQ(file.tokens()[many.size() + i], many[i]);
}

TEST(TokenFile, CutShortOrChangedIsRefusedByName) {
    const testing::TemporaryFolder folder;
    written(folder / "tokens", {{1, 2, 3}, {4, 5}});
    const std::string whole = folder.read("tokens");
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        const auto path = folder.write("short", whole.substr(0, bytes));
        testing::expect_error([&] { TokenFile{path}; }, {"short"});
    }
    for (std::size_t at = whole.size() - 40; at < whole.size(); ++at) {  // the footer
        std::string changed = whole;
        changed[at] = static_cast<char>(changed[at] ^ 0x5a);
        const auto path = folder.write("changed", changed);
        testing::expect_error([&] { TokenFile{path}; }, {"changed"});
    }
}

TEST(TokenFile, IsMadeOnceAndAgainWhenItsSourceOrItsBytesChange) {
    const testing::TemporaryFolder folder;
    int made = 0;
    const auto open = [&](const std::string& stamp) {
        return open_or_make_token_file(folder / "tokens", stamp, [&](TokenFileWriter& writer) {
            ++made;
            writer.add_document(std::vector<std::int64_t>{1, 2});
        });
    };
    open("a");
    open("a");
    EXPECT_EQ(made, 1);
    open("b");
    EXPECT_EQ(made, 2);
    folder.write("tokens", "garbage");
    EXPECT_EQ(open("b").tokens().size(), 2u);
    EXPECT_EQ(made, 3);
}

TEST(PackedWindows, EveryTokenKnowsWhereItsDocumentBegins) {
    const testing::TemporaryFolder folder;
    const PackedWindows windows(written(folder / "tokens", {{10, 11, 12}, {20}, {30, 31, 32, 33, 34}, {40, 41}}), 5);
    ASSERT_EQ(windows.size(), 2);  // the eleventh token is left over
    EXPECT_EQ(windows.at(0).ids, (std::vector<std::int64_t>{10, 11, 12, 20, 30}));
    EXPECT_EQ(windows.at(0).document_starts, (std::vector<std::int64_t>{0, 0, 0, 3, 4}));
    EXPECT_EQ(windows.at(1).ids, (std::vector<std::int64_t>{31, 32, 33, 34, 40}));
    EXPECT_EQ(windows.at(1).document_starts, (std::vector<std::int64_t>{0, 0, 0, 0, 4}));
    testing::expect_error([&] { PackedWindows(written(folder / "few", {{1, 2}}), 5); }, {"2 tokens", "5"});
}

}  // namespace
}  // namespace tessera::data
