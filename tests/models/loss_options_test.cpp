// Settings of a loss reach every kind of model: its loss is the cross entropy of its logits with these settings.
#include <gtest/gtest.h>

#include "support/goldens.h"
#include "support/op_case.h"
#include "tessera/models/catalog.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using testing::golden_path;
using testing::relative_error;

constexpr LossOptions strict{.label_smoothing = 0.1, .z_loss = 0.02};

Tensor short_ids() { return Tensor::from<std::int64_t>({3, 4, 5, 6, 7, 8, 9, 2}, {2, 4}); }

void expect_loss(const Model& model, const Batch& batch, const Tensor& logits, const Tensor& labels) {
    const Tensor expected = ops::cross_entropy(logits, labels, strict.cross_entropy());
    EXPECT_LE(relative_error(model.loss(batch, strict), expected), 1e-5) << model.config.source();
    EXPECT_GT(relative_error(model.loss(batch), expected), 1e-3) << model.config.source();
}

TEST(LossOptions, ReachDecoders) {
    const NoGrad no_grad;
    for (const char* golden : {"llama", "gemma2", "gpt2"}) {
        const auto model = load(golden_path(golden));
        const Tensor logits = model->forward({.input_ids = short_ids()});
        expect_loss(*model, {.input_ids = short_ids()}, ops::slice(logits, 1, 0, 3), ops::slice(short_ids(), 1, 1, 4));
    }
}

TEST(LossOptions, ReachEncodersAndEncoderDecoders) {
    const NoGrad no_grad;
    const auto encoder = load(golden_path("bert-mlm"));
    expect_loss(*encoder, {.input_ids = short_ids(), .labels = short_ids()},
                encoder->forward({.input_ids = short_ids()}), short_ids());
    for (const char* golden : {"t5", "bart"}) {
        const auto model = load(golden_path(golden));
        const Batch batch{.input_ids = short_ids(), .labels = short_ids()};
        expect_loss(*model, batch, model->forward(batch), short_ids());
    }
}

TEST(LossOptions, ReachClassifiersOfImages) {
    const NoGrad no_grad;
    const auto model = load(golden_path("vit"));
    const Batch batch{.pixel_values = testing::random_tensor({2, 3, 32, 32}, 1).to(DType::F32),
                      .labels = Tensor::from<std::int64_t>({1, 0}, {2})};
    expect_loss(*model, batch, model->forward(batch), batch.labels);
}

}  // namespace
}  // namespace tessera::models
