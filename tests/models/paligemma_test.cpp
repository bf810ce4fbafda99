// What the reference cases do not show: configurations and names as published, batches of different lengths, windows
// shorter than the prompt, and settings or inputs that do not fit.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/module_check.h"
#include "support/op_case.h"
#include "support/tiny_config.h"
#include "tessera/models/catalog.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using testing::config_of;
using testing::expect_error;
using testing::random_tensor;
using testing::relative_error;
using testing::replaced;
using testing::same_bits;

constexpr std::int64_t image_token = 40, patches = 4;

const std::string tiny_paligemma = R"({"model_type": "paligemma", "image_token_index": 40, "projection_dim": 12,
    "text_config": {"model_type": "gemma2", "hidden_size": 12, "num_attention_heads": 2, "num_key_value_heads": 1,
        "head_dim": 8, "num_hidden_layers": 2, "intermediate_size": 20, "vocab_size": 33, "query_pre_attn_scalar": 8,
        "sliding_window": 3, "num_image_tokens": 4},
    "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 8, "num_attention_heads": 2,
        "num_hidden_layers": 1, "intermediate_size": 10, "image_size": 8, "patch_size": 4, "num_channels": 2,
        "projection_dim": 12, "vision_use_head": false}})";

// As published in google/paligemma-3b-pt-224: what equals a class's default is left out, head_dim among it.
const std::string published_paligemma = R"({"architectures": ["PaliGemmaForConditionalGeneration"], "bos_token_id": 2,
    "eos_token_id": 1, "hidden_size": 2048, "ignore_index": -100, "image_token_index": 257152,
    "model_type": "paligemma", "pad_token_id": 0, "projection_dim": 2048,
    "text_config": {"hidden_size": 2048, "intermediate_size": 16384, "model_type": "gemma", "num_attention_heads": 8,
        "num_hidden_layers": 18, "num_image_tokens": 256, "num_key_value_heads": 1, "torch_dtype": "float32",
        "vocab_size": 257216},
    "torch_dtype": "float32", "transformers_version": "4.41.0.dev0",
    "vision_config": {"hidden_size": 1152, "intermediate_size": 4304, "model_type": "siglip_vision_model",
        "num_attention_heads": 16, "num_hidden_layers": 27, "num_image_tokens": 256, "patch_size": 14,
        "projection_dim": 2048, "projector_hidden_act": "gelu_fast", "vision_use_head": false}})";

// Image tokens, then the text.
std::vector<std::int64_t> prompt_of(std::vector<std::int64_t> text) {
    text.insert(text.begin(), patches, image_token);
    return text;
}

Batch prompt_of(const std::vector<std::int64_t>& text, const Tensor& image) {
    const std::vector<std::int64_t> ids = prompt_of(text);
    return {.input_ids = Tensor::from(ids, {1, static_cast<std::int64_t>(ids.size())}), .pixel_values = image};
}

// The scores after the last token when `answer` follows a prompt, without a cache.
Tensor uncached(const Model& model, Batch batch, const std::vector<std::int64_t>& answer) {
    const auto count = static_cast<std::int64_t>(answer.size());
    batch.token_type_ids =
        ops::concat({Tensor::zeros(batch.input_ids.shape(), DType::I64), Tensor::full({1, count}, 1, DType::I64)}, 1);
    batch.input_ids = ops::concat({batch.input_ids, Tensor::from(answer, {1, count})}, 1);
    const Tensor scores = model.forward(batch);
    return ops::select(scores, 1, scores.size(1) - 1);
}

TEST(PaliGemma, ThePublishedConfigurationHasThePublishedParameters) {
    // 11,693,865,920 bytes of float32 in the published folder's index.
    EXPECT_EQ(nn::parameter_count(*build(config_of(published_paligemma))), 11'693'865'920 / 4);
}

TEST(PaliGemma, NewerNamesOfTheSameTensorsLoad) {
    const formats::Checkpoint stored = formats::open_checkpoint(testing::golden_path("paligemma"));
    formats::Checkpoint newer;
    newer.config = stored.config;
    for (const auto& [name, tensor] : stored.tensors)
        newer.tensors.emplace(name.starts_with("language_model.model.")
                                  ? "model.language_model." + name.substr(std::string("language_model.model.").size())
                                  : "model." + name,
                              tensor);
    newer.tensors.emplace("lm_head.weight", stored.tensors.at("language_model.model.embed_tokens.weight"));
    const testing::Golden expected("paligemma/expected.safetensors");
    const NoGrad no_grad;
    const Batch batch{.input_ids = expected["input_ids"], .pixel_values = expected["pixel_values"]};
    EXPECT_TRUE(same_bits(load(newer)->forward(batch), load(stored)->forward(batch)));
}

TEST(PaliGemma, CachedIsUncachedWithAWindowShorterThanThePrompt) {
    const auto model = build(config_of(tiny_paligemma));
    testing::randomise(*model);
    const NoGrad no_grad;
    const Batch prompt = prompt_of({2, 7, 1, 8, 2, 8}, random_tensor({1, 2, 8, 8}, 1));
    const std::vector<std::int64_t> answer{1, 8, 2, 8, 4, 5};
    const auto session = model->decode(32);
    const Tensor first = model->forward(prompt);
    EXPECT_LE(relative_error(session->prefill(prompt), ops::select(first, 1, first.size(1) - 1)), 1e-12);
    for (std::size_t i = 0; i < answer.size(); ++i) {
        const std::vector<std::int64_t> so_far(answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        EXPECT_LE(relative_error(session->step(Tensor::from<std::int64_t>({answer[i]}, {1, 1})),
                                 uncached(*model, prompt, so_far)),
                  1e-12)
            << "token " << i;
    }
}

TEST(PaliGemma, ABatchOfDifferentLengthsIsItsRows) {
    const auto model = build(config_of(tiny_paligemma));
    testing::randomise(*model);
    const NoGrad no_grad;
    const std::vector<std::vector<std::int64_t>> texts{{2, 7, 1, 8}, {2, 8}};
    const Tensor images = random_tensor({2, 2, 8, 8}, 1), next = Tensor::from<std::int64_t>({5, 9}, {2, 1});
    std::vector<std::int64_t> ids, mask;
    for (const auto& text : texts) {
        const std::vector<std::int64_t> row = prompt_of(text);
        ids.insert(ids.end(), 8 - row.size(), 0);
        mask.insert(mask.end(), 8 - row.size(), 0);
        ids.insert(ids.end(), row.begin(), row.end());
        mask.insert(mask.end(), row.size(), 1);
    }
    const Batch together{
        .input_ids = Tensor::from(ids, {2, 8}), .attention_mask = Tensor::from(mask, {2, 8}), .pixel_values = images};
    const auto session = model->decode(16);
    const Tensor scores = model->forward(together), read = session->prefill(together), stepped = session->step(next);
    for (std::int64_t row = 0; row < 2; ++row) {
        const Batch single = prompt_of(texts[static_cast<std::size_t>(row)], ops::slice(images, 0, row, row + 1));
        const auto alone = model->decode(16);
        const Tensor expected = alone->prefill(single);
        EXPECT_LE(relative_error(ops::slice(read, 0, row, row + 1), expected), 1e-12);
        EXPECT_LE(relative_error(ops::slice(ops::select(scores, 1, 7), 0, row, row + 1), expected), 1e-12);
        EXPECT_LE(relative_error(ops::slice(stepped, 0, row, row + 1), alone->step(ops::slice(next, 0, row, row + 1))),
                  1e-12);
    }
}

TEST(PaliGemma, EveryParameterLearns) {
    const auto model = build(config_of(tiny_paligemma));
    testing::randomise(*model);
    const Batch batch{.input_ids = Tensor::from(prompt_of({2, 7, 1, 8, 2}), {1, 9}),
                      .token_type_ids = Tensor::from<std::int64_t>({0, 0, 0, 0, 0, 0, 1, 1, 1}, {1, 9}),
                      .pixel_values = random_tensor({1, 2, 8, 8}, 1),
                      .labels = Tensor::from<std::int64_t>({-100, -100, -100, -100, -100, -100, 1, 8, 2}, {1, 9})};
    testing::expect_gradients(*model, [&] { return model->loss(batch); });
    expect_error([&] { model->loss({.input_ids = batch.input_ids, .pixel_values = batch.pixel_values}); },
                 {"token_type_ids", "labels"});
}

TEST(PaliGemma, WhatDoesNotFitIsAnErrorThatNamesIt) {
    testing::expect_rejected(tiny_paligemma, "\"num_image_tokens\": 4", "\"num_image_tokens\": 5",
                             "text_config.num_image_tokens");
    testing::expect_rejected(tiny_paligemma, "\"projection_dim\": 12", "\"projection_dim\": 13", "projection_dim");
    testing::expect_rejected(tiny_paligemma, "\"model_type\": \"gemma2\"", "\"model_type\": \"bert\"",
                             "text_config.model_type");
    testing::expect_rejected(tiny_paligemma, "\"num_key_value_heads\": 1", "\"num_key_value_heads\": 3",
                             "text_config.num_key_value_heads");
    testing::expect_rejected(tiny_paligemma, "\"text_config\"", "\"texts\"", "text_config");

    const auto model = build(config_of(tiny_paligemma));
    testing::randomise(*model);
    Batch batch = prompt_of({2, 7}, random_tensor({1, 2, 8, 8}, 1));
    batch.pixel_values = {};
    expect_error([&] { model->forward(batch); }, {"input_ids", "4 image tokens", "0 images"});
    batch.pixel_values = random_tensor({2, 2, 8, 8}, 1);
    expect_error([&] { model->forward(batch); }, {"input_ids", "4 image tokens", "2 images"});
    batch.pixel_values = random_tensor({1, 2, 16, 16}, 1);
    expect_error([&] { model->forward(batch); }, {"pixel_values", "image_size"});
}

}  // namespace
}  // namespace tessera::models
