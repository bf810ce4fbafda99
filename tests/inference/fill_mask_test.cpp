// The fillers of a gap against the model's own logits.
#include "tessera/inference/fill_mask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/expect_error.h"
#include "support/tiny_text_model.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::inference {
namespace {

const std::string masked_model = R"({"model_type": "bert", "architectures": ["BertForMaskedLM"], "hidden_size": 16,
    "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 64})";

TEST(FillMask, GivesTheMostProbableTokensOfEachGap) {
    const NoGrad no_grad;
    const models::OpenedModel model = testing::tiny_text_model(masked_model, "wordpiece-bert");
    const std::string text = "the [MASK] sat on [MASK] mat";
    const auto gaps = fill_mask(model, text, 4);
    ASSERT_EQ(gaps.size(), 2u);
    const auto ids = model.text().encode(text);
    const auto mask = *model.text().id("[MASK]");
    const Tensor logits =
        model.model->forward({.input_ids = Tensor::from(ids, {1, static_cast<std::int64_t>(ids.size())})});
    std::size_t gap = 0;
    for (std::size_t at = 0; at < ids.size(); ++at) {
        if (ids[at] != mask) continue;
        const auto row = ops::select(ops::select(logits, 0, 0), 0, static_cast<std::int64_t>(at)).to_vector<double>();
        double sum = 0;
        for (const double score : row) sum += std::exp(score);
        ASSERT_EQ(gaps[gap].size(), 4u);
        double before = 1;
        for (const Filler& filler : gaps[gap]) {
            EXPECT_NEAR(filler.probability, std::exp(row[static_cast<std::size_t>(filler.id)]) / sum, 1e-6);
            EXPECT_LE(filler.probability, before);
            before = filler.probability;
        }
        const auto best = std::max_element(row.begin(), row.end()) - row.begin();
        EXPECT_EQ(gaps[gap][0].id, best);
        ++gap;
    }
    // The other gap stays in the text.
    EXPECT_NE(gaps[0][0].text.find("[MASK] mat"), std::string::npos) << gaps[0][0].text;
    EXPECT_NE(gaps[1][0].text.find("the [MASK] sat"), std::string::npos) << gaps[1][0].text;
}

TEST(FillMask, RefusesATextWithoutGapsAndATokenizerWithoutMask) {
    const models::OpenedModel model = testing::tiny_text_model(masked_model, "wordpiece-bert");
    testing::expect_error([&] { fill_mask(model, "no gap", 3); }, {"[MASK]"});
    const models::OpenedModel other = testing::tiny_text_model(masked_model, "byte-level-bpe-gpt2");
    testing::expect_error([&] { fill_mask(other, "a [MASK]", 3); }, {"no mask token"});
}

}  // namespace
}  // namespace tessera::inference
