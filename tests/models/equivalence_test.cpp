// The same answer by different ways, for every decoder among the goldens: padded or alone, with or without a cache,
// all at once or in pieces, saved and loaded.
#include <gtest/gtest.h>

#include "support/golden_folders.h"
#include "support/op_case.h"
#include "support/temporary_folder.h"
#include "tessera/inference/token_loop.h"
#include "tessera/models/catalog.h"
#include "tessera/ops/views.h"
#include "tessera/parity/parity.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using testing::relative_error;
using testing::same_bits;

constexpr double rounding = 2e-5;

class Decoders : public ::testing::TestWithParam<std::filesystem::path> {
   protected:
    Decoders()
        : model(load(GetParam())),
          ids(formats::read_safetensors(GetParam() / "expected.safetensors").tensors.at("input_ids")) {}

    std::vector<std::int64_t> row(std::int64_t index, std::int64_t length) const {
        return ops::slice(ops::select(ids, 0, index), 0, 0, length).to_vector<std::int64_t>();
    }
    Tensor scores_of(const std::vector<std::int64_t>& tokens) const {
        return model->forward({.input_ids = Tensor::from(tokens, {1, static_cast<std::int64_t>(tokens.size())})});
    }

    NoGrad no_grad;
    std::unique_ptr<Model> model;
    Tensor ids;
};

TEST_P(Decoders, PaddedRowsGiveWhatTheyGiveAlone) {
    const std::int64_t count = ids.size(1), shorter = count - 5;
    const std::vector<std::int64_t> longer_row = row(0, count), shorter_row = row(1, shorter);
    for (const bool left : {false, true}) {
        std::vector<std::int64_t> both = longer_row, mask(static_cast<std::size_t>(count), 1);
        const std::vector<std::int64_t> padding(5, 3);
        if (left) both.insert(both.end(), padding.begin(), padding.end());
        both.insert(both.end(), shorter_row.begin(), shorter_row.end());
        if (!left) both.insert(both.end(), padding.begin(), padding.end());
        for (std::int64_t i = 0; i < count; ++i) mask.push_back(left ? i >= 5 : i < shorter);
        const Tensor scores = model->forward(
            {.input_ids = Tensor::from(both, {2, count}), .attention_mask = Tensor::from(mask, {2, count})});
        const std::int64_t first = left ? 5 : 0;
        EXPECT_LE(relative_error(ops::slice(scores, 0, 0, 1), scores_of(longer_row)), rounding) << left;
        EXPECT_LE(
            relative_error(ops::slice(ops::slice(scores, 0, 1, 2), 1, first, first + shorter), scores_of(shorter_row)),
            rounding)
            << left;
    }
}

TEST_P(Decoders, CachedStepsGiveTheWholePass) {
    const std::int64_t count = ids.size(1);
    const Tensor whole = model->forward({.input_ids = ids});
    for (const std::int64_t piece : {1, 3}) {  // token by token, and in chunks
        const std::unique_ptr<DecodingSession> session = model->decode(count);
        std::int64_t seen = 4;
        Tensor last = session->prefill({.input_ids = ops::slice(ids, 1, 0, seen)});
        while (true) {
            EXPECT_LE(relative_error(last, ops::select(whole, 1, seen - 1)), rounding) << seen << " tokens";
            if (seen == count) break;
            const std::int64_t next = std::min(count, seen + piece);
            last = session->step(ops::slice(ids, 1, seen, next));
            seen = next;
        }
    }
}

TEST_P(Decoders, PromptsOfDifferentLengthsGoOnAsTheyWouldAlone) {
    const std::vector<std::vector<std::int64_t>> prompts{row(0, 9), row(1, 4), row(0, 1)};
    const inference::GenerateOptions options{.max_new_tokens = 12};
    const auto together = inference::generate(*model, inference::batch_of(prompts), options).tokens;
    for (std::size_t i = 0; i < prompts.size(); ++i)
        EXPECT_EQ(together[i], inference::generate(*model, inference::batch_of({prompts[i]}), options).tokens[0]);
}

INSTANTIATE_TEST_SUITE_P(All, Decoders, ::testing::ValuesIn(testing::model_folders("greedy_prompt")),
                         testing::folder_name);

class Checkpoints : public ::testing::TestWithParam<std::filesystem::path> {};

// Names, shapes and bits, in one file or in several.
TEST_P(Checkpoints, SavedIsLoaded) {
    const testing::TemporaryFolder place;
    const formats::TensorMap original = formats::open_checkpoint(GetParam()).tensors;
    const std::unique_ptr<Model> model = load(GetParam());
    for (const std::int64_t shard_bytes : {std::int64_t{1} << 30, std::int64_t{30000}}) {
        save(*model, place.path() / "saved", {.max_shard_bytes = shard_bytes});
        const formats::TensorMap saved = formats::open_checkpoint(place.path() / "saved").tensors;
        EXPECT_EQ(std::filesystem::exists(place.path() / "saved" / "model.safetensors.index.json"),
                  shard_bytes == 30000);
        ASSERT_EQ(saved.size(), original.size());
        for (const auto& [name, tensor] : original) {
            ASSERT_TRUE(saved.contains(name)) << name;
            EXPECT_EQ(saved.at(name).shape(), tensor.shape()) << name;
            EXPECT_TRUE(same_bits(saved.at(name), tensor)) << name;
        }
        const std::unique_ptr<Model> again = load(place.path() / "saved");
        for (const auto& [name, tensor] : nn::parameters(*again)) EXPECT_FALSE(tensor->is_deferred()) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Checkpoints, ::testing::ValuesIn(testing::model_folders()), testing::folder_name);

}  // namespace
}  // namespace tessera::models
