// A batch and a context name every tensor that a model is given: what moves them to a device forgets none.
#include <gtest/gtest.h>

#include <set>

#include "support/op_case.h"
#include "tessera/models/model.h"

namespace tessera::models {
namespace {

template <class Visitable>
std::map<std::string, Tensor*> visited(Visitable& value) {
    std::map<std::string, Tensor*> tensors;
    value.visit([&](const char* name, Tensor& tensor) { EXPECT_TRUE(tensors.emplace(name, &tensor).second) << name; });
    return tensors;
}

TEST(BatchVisit, NamesEveryTensorOfABatch) {
    Batch batch;
    const std::map<std::string, Tensor*> expected = {{"input_ids", &batch.input_ids},
                                                     {"attention_mask", &batch.attention_mask},
                                                     {"token_type_ids", &batch.token_type_ids},
                                                     {"global_attention_mask", &batch.global_attention_mask},
                                                     {"pixel_values", &batch.pixel_values},
                                                     {"decoder_input_ids", &batch.decoder_input_ids},
                                                     {"decoder_attention_mask", &batch.decoder_attention_mask},
                                                     {"labels", &batch.labels}};
    EXPECT_EQ(visited(batch), expected);
    EXPECT_EQ(expected.size() * sizeof(Tensor), sizeof(Batch));  // a batch is its tensors
}

TEST(BatchVisit, NamesEveryTensorOfAContextAndItsMask) {
    nn::Context context;
    const std::map<std::string, Tensor*> expected = {
        {"positions", &context.positions},         {"bias", &context.bias},
        {"global_tokens", &context.global_tokens}, {"lengths", &context.mask.lengths},
        {"starts", &context.mask.starts},          {"prefix_lengths", &context.mask.prefix_lengths},
        {"first_keys", &context.mask.first_keys}};
    EXPECT_EQ(visited(context), expected);
}

TEST(BatchVisit, MovesEveryTensorToADevice) {
    if (!available(DeviceKind::CUDA)) GTEST_SKIP() << "no CUDA device";
    nn::Context context;
    for (const auto& [name, tensor] : visited(context)) *tensor = Tensor::zeros({2}, DType::I64);
    context = moved_to(context, cuda);
    for (const auto& [name, tensor] : visited(context)) EXPECT_EQ(tensor->device(), cuda) << name;
}

}  // namespace
}  // namespace tessera::models
