// Checkpoints in 16-bit formats: the same model, within what rounding the weights costs.
#include <gtest/gtest.h>

#include "models/catalog.h"
#include "nn/module.h"
#include "parity/parity.h"
#include "support/golden_folders.h"
#include "support/op_case.h"
#include "tensor/tape.h"

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

INSTANTIATE_TEST_SUITE_P(All, NarrowWeights, ::testing::ValuesIn(testing::model_folders("logits")),
                         testing::folder_name);

}  // namespace
}  // namespace tessera::models
