// Perplexity with a sliding window against its definition: each token's probability from the tokens that its window
// holds before it.
#include "tessera/evaluation/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "support/tiny_text_model.h"
#include "tessera/ops/softmax.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::evaluation {
namespace {

const std::string decoder = R"({"model_type": "llama", "hidden_size": 16, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24, "max_position_embeddings": 64})";
const std::string text = "The cat sat on the mat, and the dog looked at it for a long while before it went away.";

// −log p(ids[at] | ids[begin … at)).
double surprise(const models::OpenedModel& model, const std::vector<std::int64_t>& ids, std::int64_t begin,
                std::int64_t at) {
    const NoGrad no_grad;
    const std::vector<std::int64_t> before(ids.begin() + begin, ids.begin() + at);
    const Tensor scores = model.model->forward({.input_ids = Tensor::from(before, {1, at - begin})});
    const Tensor last = ops::select(ops::select(scores, 0, 0), 0, at - begin - 1);
    return -ops::log_softmax(last).to_vector<double>()[static_cast<std::size_t>(ids[static_cast<std::size_t>(at)])];
}

class Scoring : public ::testing::TestWithParam<std::pair<std::int64_t, std::int64_t>> {};

TEST_P(Scoring, IsTheSumOfEachTokensSurprise) {
    const models::OpenedModel model = testing::tiny_text_model(decoder, "byte-level-bpe-gpt2");
    const auto [window, stride] = GetParam();
    std::vector<std::int64_t> ids = model.text().encode(text);
    if (model.text().special.bos && ids.front() != *model.text().special.bos)
        ids.insert(ids.begin(), *model.text().special.bos);
    const auto count = static_cast<std::int64_t>(ids.size());
    const std::int64_t step = stride > 0 ? stride : window / 2;
    double expected = 0;
    for (std::int64_t at = 1; at < count; ++at) {
        // The first window that reaches the token.
        std::int64_t begin = 0;
        while (begin + window <= at) begin += step;
        expected += surprise(model, ids, begin, at);
    }
    const Score score = score_text(model, text, {.window = window, .stride = stride});
    EXPECT_EQ(score.tokens, count - 1);
    EXPECT_EQ(score.bytes, static_cast<std::int64_t>(text.size()));
    EXPECT_NEAR(score.negative_log_likelihood, expected, 1e-4 * expected);
    EXPECT_NEAR(score.perplexity(), std::exp(expected / static_cast<double>(count - 1)), 1e-3 * score.perplexity());
    EXPECT_NEAR(score.bits_per_byte(), expected / std::log(2) / static_cast<double>(text.size()), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Windows, Scoring,
                         ::testing::Values(std::pair{64, 0}, std::pair{8, 0}, std::pair{8, 7}, std::pair{7, 1},
                                           std::pair{2, 1}));

TEST(Scoring, ProgressEndsWithTheText) {
    const models::OpenedModel model = testing::tiny_text_model(decoder, "byte-level-bpe-gpt2");
    std::int64_t last = 0, whole = -1;
    score_text(model, text, {.window = 8, .on_progress = [&](std::int64_t done, std::int64_t total) {
                                 EXPECT_GT(done, last);
                                 last = done;
                                 whole = total;
                             }});
    EXPECT_EQ(last, whole);
}

TEST(Scoring, KeepsToTheModelsContextUnlessToldOtherwise) {
    const std::string narrow = testing::replaced(decoder, "64}", "8}");
    const models::OpenedModel model = testing::tiny_text_model(narrow, "byte-level-bpe-gpt2");
    // Nothing is said: as wide as the model, which is what a window of 8 gives.
    EXPECT_EQ(score_text(model, text).negative_log_likelihood,
              score_text(model, text, {.window = 8}).negative_log_likelihood);
    testing::expect_error([&] { score_text(model, text, {.window = 9}); }, {"window of 9", "context of 8"});
    const models::OpenedModel wide = testing::tiny_text_model(decoder, "byte-level-bpe-gpt2");  // the same weights
    EXPECT_EQ(score_text(model, text, {.window = 16, .beyond_context = true}).negative_log_likelihood,
              score_text(wide, text, {.window = 16}).negative_log_likelihood);
    // Learned positions end, whoever asks.
    const models::OpenedModel learned = testing::tiny_text_model(
        R"({"model_type": "gpt2", "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 8})", "byte-level-bpe-gpt2");
    testing::expect_error([&] { score_text(learned, text, {.window = 9, .beyond_context = true}); },
                          {"window of 9", "8 positions"});
}

TEST(Scoring, RefusesWhatCannotBeScored) {
    const models::OpenedModel model = testing::tiny_text_model(decoder, "byte-level-bpe-gpt2");
    testing::expect_error([&] { score_text(model, text, {.window = 1}); }, {"window of 1"});
    testing::expect_error([&] { score_text(model, text, {.window = 8, .stride = 8}); }, {"stride of 8"});
    testing::expect_error([&] { score_text(model, ""); }, {"the text", "nothing to predict"});
    testing::expect_error([&] { score_text(model, "", {.source = "notes.txt"}); }, {"notes.txt", "nothing to predict"});
}

}  // namespace
}  // namespace tessera::evaluation
