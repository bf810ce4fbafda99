#include "inference/generator.h"

#include <gtest/gtest.h>

#include "models/catalog.h"
#include "support/expect_error.h"
#include "support/goldens.h"

namespace tessera::inference {
namespace {

using testing::golden_path;

TEST(Generator, EndsWhereTheLearnedPositionsEnd) {
    const auto model = models::load(golden_path("gpt2"));  // 64 positions
    const auto tokens = [&](std::int64_t prompt, std::int64_t most) {
        const std::vector<std::int64_t> ids(static_cast<std::size_t>(prompt), 5);
        return generate_greedy(*model, batch_of({ids}), {.max_new_tokens = most}).tokens[0].size();
    };
    EXPECT_EQ(tokens(2, 100), 63u);  // 62 of them were fed back, after the prompt's two
    EXPECT_EQ(tokens(64, 100), 1u);
    EXPECT_EQ(tokens(2, 63), 63u);
    EXPECT_EQ(tokens(2, 62), 62u);
    testing::expect_error([&] { tokens(65, 1); }, {"input_ids", "65", "64"});
}

TEST(Generator, StopsARowAtItsStopIdAndGoesOnWithTheOthers) {
    const auto model = models::load(golden_path("llama"));
    const std::vector<std::vector<std::int64_t>> prompts{{5, 17, 42}, {7}};
    const auto whole = generate_greedy(*model, batch_of(prompts), {.max_new_tokens = 8}).tokens;
    const std::int64_t stop = whole[0][2];
    const auto stopped = generate_greedy(*model, batch_of(prompts), {.max_new_tokens = 8, .stop_ids = {stop}}).tokens;
    EXPECT_EQ(stopped[0], std::vector<std::int64_t>(whole[0].begin(), whole[0].begin() + 3));
    for (std::size_t i = 0; i < stopped[1].size(); ++i) EXPECT_EQ(stopped[1][i], whole[1][i]);
    EXPECT_EQ(stopped[1].size() == 8 || stopped[1].back() == stop, true);
}

TEST(Generator, TellsEachTokenAndEndsWhenAsked) {
    const auto model = models::load(golden_path("llama"));
    std::vector<std::int64_t> told;
    const auto generated =
        generate_greedy(*model, batch_of({{5, 17}}), {.max_new_tokens = 8}, [&](std::size_t row, std::int64_t token) {
            EXPECT_EQ(row, 0u);
            told.push_back(token);
            return told.size() < 3;
        });
    EXPECT_EQ(told.size(), 3u);
    EXPECT_EQ(generated.tokens[0], told);
    testing::expect_error([] { batch_of({{1}, {}}); }, {"at least one token"});
}

}  // namespace
}  // namespace tessera::inference
