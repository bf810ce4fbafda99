// The models without a golden of their own: a CUDA device computes what the CPU does, gradients and decoding included.
#include <gtest/gtest.h>

#include "support/module_check.h"
#include "support/op_case.h"
#include "support/tiny_config.h"
#include "tessera/models/catalog.h"
#include "tessera/models/ngram/ngram.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using testing::config_of;
using testing::random_tensor;
using testing::randomise;
using testing::relative_error;

std::vector<Tensor> results(const std::string& json, const Batch& batch, Device device) {
    const auto model = build(config_of(json));
    randomise(*model, 1, DType::F32);
    nn::move_to(*model, device);
    nn::set_requires_grad(*model, true);
    const Tensor loss = model->loss(moved_to(batch, device), {}, {.training = true, .key = {.seed = 3}});
    backward(loss);
    std::vector<Tensor> found{loss.detach(), model->forward(moved_to(batch, device)).detach()};
    for (const auto& [name, tensor] : nn::parameters(*model)) found.push_back(tensor->grad());
    return found;
}

void expect_same_on_cuda(const std::string& json, const Batch& batch) {
    const std::vector<Tensor> here = results(json, batch, cpu), there = results(json, batch, cuda);
    ASSERT_EQ(here.size(), there.size());
    for (std::size_t i = 0; i < here.size(); ++i) EXPECT_LE(relative_error(there[i], here[i]), 1e-5) << json << i;
}

// What follows a prompt of two rows, three times, and the tokens fed in between.
void expect_same_decoding(const Model& here, const Model& there, const Batch& prompt) {
    const NoGrad no_grad;
    const auto one = here.decode(8), other = there.decode(8);
    EXPECT_LE(relative_error(other->prefill(moved_to(prompt, cuda)), one->prefill(prompt)), 1e-5);
    for (const std::int64_t id : {3, 5}) {
        const Tensor next = Tensor::from<std::int64_t>({id, id + 1}, {2, 1});
        EXPECT_LE(relative_error(other->step(next.to(cuda)), one->step(next)), 1e-5);
    }
}

class OnCuda : public ::testing::Test {
    void SetUp() override {
        if (!available(DeviceKind::CUDA)) GTEST_SKIP() << "no CUDA device";
    }

   protected:
    const Batch text_{.input_ids = Tensor::from<std::int64_t>({1, 2, 3, 4, 0, 0, 5, 6}, {2, 4}),
                      .attention_mask = Tensor::from<std::int64_t>({1, 1, 1, 1, 0, 0, 1, 1}, {2, 4})};
};

TEST_F(OnCuda, RecurrentLanguageModels) {
    for (const char* cell : {"rnn", "gru", "lstm"}) {
        const std::string json = text_of(R"({"model_type": "rnn_lm", "cell": ")", cell,
                                         R"(", "vocabulary_size": 9, "embedding_width": 5, "hidden_width": 6,
                                             "layers": 2, "dropout": 0.3})");
        expect_same_on_cuda(json, text_);
        const auto here = build(config_of(json)), there = build(config_of(json));
        for (const auto& model : {here.get(), there.get()}) randomise(*model, 1, DType::F32);
        nn::move_to(*there, cuda);
        expect_same_decoding(*here, *there, text_);
    }
}

TEST_F(OnCuda, SequenceToSequence) {
    const std::string json = R"({"model_type": "bahdanau", "source_vocabulary_size": 9, "target_vocabulary_size": 8,
        "embedding_width": 4, "hidden_width": 5, "attention_width": 3, "layers": 2, "decoder_start_token_id": 1,
        "bidirectional": true})";
    Batch batch = text_;
    batch.labels = Tensor::from<std::int64_t>({4, 2, 7, 3, 1, -100}, {2, 3});
    expect_same_on_cuda(json, batch);
    const auto here = build(config_of(json)), there = build(config_of(json));
    for (const auto& model : {here.get(), there.get()}) randomise(*model, 1, DType::F32);
    nn::move_to(*there, cuda);
    expect_same_decoding(*here, *there, text_);
}

TEST_F(OnCuda, AutoencoderAndClassifier) {
    const Batch images{.pixel_values = random_tensor({3, 1, 3, 4}, 5, 0, 1, DType::F32),
                       .labels = Tensor::from<std::int64_t>({2, 0, 3}, {3})};
    expect_same_on_cuda(R"({"model_type": "autoencoder", "input_width": 12, "encoder_widths": [7, 3],
        "activation": "gelu"})",
                        {.pixel_values = images.pixel_values});
    expect_same_on_cuda(R"({"model_type": "mlp_classifier", "input_width": 12, "hidden_widths": [7, 3],
        "classes": 4, "activation": "gelu"})",
                        images);
}

TEST_F(OnCuda, CountedNgrams) {
    const Config config = config_of(R"({"model_type": "ngram", "vocabulary_size": 9, "order": 3, "smoothing": 0.5})");
    Ngram here(config), there(config);
    for (Ngram* model : {&here, &there}) {
        model->count(text_);
        model->estimate();
    }
    nn::move_to(there, cuda);
    EXPECT_LE(relative_error(there.forward(moved_to(text_, cuda)), here.forward(text_)), 1e-6);
    expect_same_decoding(here, there, text_);
}

}  // namespace
}  // namespace tessera::models
