// Checkpoints in 16-bit formats: the same model, within what rounding the weights costs.
#include <gtest/gtest.h>

#include "support/golden_folders.h"
#include "support/op_case.h"
#include "tessera/models/catalog.h"
#include "tessera/nn/module.h"
#include "tessera/ops/views.h"
#include "tessera/parity/parity.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using testing::relative_error;

Batch inputs_of(const std::filesystem::path& folder) {
    const formats::Safetensors expected = formats::read_safetensors(folder / "expected.safetensors");
    const auto input = [&](const char* name) {
        const auto found = expected.tensors.find(name);
        return found == expected.tensors.end() ? Tensor() : found->second;
    };
    return {.input_ids = input("input_ids"),
            .attention_mask = input("attention_mask"),
            .global_attention_mask = input("global_attention_mask"),
            .pixel_values = input("pixel_values"),
            .decoder_input_ids = input("decoder_input_ids")};
}

class NarrowWeights : public ::testing::TestWithParam<std::filesystem::path> {};

// Two percent, or what the rounding of the weights costs by itself where a random model amplifies that more (T5, whose
// scores are not scaled): nothing else may be lost.
TEST_P(NarrowWeights, ScoresStayWithinTwoPercent) {
    const NoGrad no_grad;
    const Batch batch = inputs_of(GetParam());
    const Tensor scores = load(GetParam())->forward(batch);
    for (const DType dtype : {DType::BF16, DType::F16}) {
        const std::unique_ptr<Model> narrow = load(GetParam()), rounded = load(GetParam());
        nn::convert_to(*narrow, dtype);
        nn::convert_to(*rounded, dtype);
        nn::convert_to(*rounded, DType::F32);
        const Tensor ours = narrow->forward(batch), reference = rounded->forward(batch);
        EXPECT_LE(relative_error(ours, reference), 1e-4) << name(dtype);
        EXPECT_LE(relative_error(ours, scores), std::max(0.02, relative_error(reference, scores) + 1e-4))
            << name(dtype);
    }
}

// Decoding may multiply weights in another order than reading a prompt does.
TEST_P(NarrowWeights, DecodeToTheScoresOfTheWholeText) {
    const NoGrad no_grad;
    const std::unique_ptr<Model> model = load(GetParam());
    const Batch batch = inputs_of(GetParam());
    const bool has_more = batch.pixel_values.defined() || batch.decoder_input_ids.defined();
    if (has_more || !batch.input_ids.defined() || !model->config.has("num_key_value_heads")) return;
    nn::convert_to(*model, DType::BF16);
    const Tensor ids = ops::slice(batch.input_ids, 0, 0, 1);
    const std::int64_t count = ids.size(1);
    const auto session = model->decode(count);
    session->prefill({.input_ids = ops::slice(ids, 1, 0, count - 1)});
    const Tensor stepped = session->step(ops::slice(ids, 1, count - 1, count));
    const Tensor whole = ops::select(model->forward({.input_ids = ids}), 1, count - 1);
    EXPECT_LE(relative_error(stepped, whole), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(All, NarrowWeights, ::testing::ValuesIn(testing::model_folders("logits")),
                         testing::folder_name);

}  // namespace
}  // namespace tessera::models
