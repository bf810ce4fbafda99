// What the reference case does not show: the loss, the vision tower alone, and settings or inputs that do not fit.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/module_check.h"
#include "support/op_case.h"
#include "support/tiny_config.h"
#include "tessera/models/catalog.h"
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

const std::string tiny_siglip = R"({"model_type": "siglip",
    "text_config": {"hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 1, "intermediate_size": 20,
        "vocab_size": 17, "max_position_embeddings": 6, "projection_size": 8},
    "vision_config": {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 10,
        "image_size": 8, "patch_size": 4, "num_channels": 2}})";

Batch pairs() {
    return {.input_ids = Tensor::from<std::int64_t>({3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}, {2, 6}),
            .pixel_values = random_tensor({2, 2, 8, 8}, 1)};
}

TEST(Siglip, EveryParameterLearns) {
    const auto model = build(config_of(tiny_siglip));
    testing::randomise(*model);
    testing::expect_gradients(*model, [&] { return model->loss(pairs()); });
}

TEST(Siglip, ABatchIsItsImagesAndTexts) {
    const auto model = build(config_of(tiny_siglip));
    testing::randomise(*model);
    const NoGrad no_grad;
    const Tensor together = model->forward(pairs());
    for (std::int64_t i = 0; i < 2; ++i)
        for (std::int64_t j = 0; j < 2; ++j) {
            const Batch pair{.input_ids = ops::slice(pairs().input_ids, 0, j, j + 1),
                             .pixel_values = ops::slice(pairs().pixel_values, 0, i, i + 1)};
            EXPECT_LE(relative_error(model->forward(pair), ops::slice(ops::slice(together, 0, i, i + 1), 1, j, j + 1)),
                      1e-12);
        }
}

TEST(Siglip, StartsWhereThePaperDoes) {
    const auto model = build(config_of(tiny_siglip));
    nn::initialise(*model, {.seed = 1});
    std::map<std::string, double> starts;
    for (const auto& [name, tensor] : nn::parameters(*model))
        if (name.starts_with("similarity.")) starts[name] = tensor->item();
    EXPECT_NEAR(starts.at("similarity.scale"), std::log(10.0), 1e-6);
    EXPECT_EQ(starts.at("similarity.bias"), -10);
}

TEST(Siglip, TheVisionTowerLoadsAlone) {
    const formats::Checkpoint whole = formats::open_checkpoint(testing::golden_path("siglip"));
    const testing::Golden expected("siglip/expected.safetensors");
    formats::Checkpoint tower;
    tower.config = whole.config.section("vision_config");
    for (const auto& [name, tensor] : whole.tensors)
        if (name.starts_with("vision_model.")) tower.tensors.emplace(name, tensor);
    const auto model = load(tower);
    const NoGrad no_grad;
    Tensor states;
    const Tensor summary = model->forward({.pixel_values = expected["pixel_values"]}, {},
                                          [&](const std::string&, const Tensor& value) { states = value; });
    EXPECT_LE(relative_error(states, expected["vision_last_hidden"]), 1e-5);
    EXPECT_EQ(summary.shape(), (Shape{3, 48}));
    expect_error([&] { model->loss({}); }, {"config.json", "no loss"});
}

// The pooling's query, key and value lie in one tensor of the checkpoint, and nothing else may change either.
TEST(Siglip, WritesTheTensorsThatItRead) {
    for (const char* folder : {"vit", "siglip", "paligemma", "paligemma2"}) {
        const formats::Checkpoint read = formats::open_checkpoint(testing::golden_path(folder));
        const auto model = load(read);
        const auto written = checkpoint_tensors(*model, model->weights, [](const Tensor& value) { return value; });
        EXPECT_EQ(written.size(), read.tensors.size()) << folder;
        for (const auto& [name, tensor] : written) {
            const auto found = read.tensors.find(name);
            ASSERT_NE(found, read.tensors.end()) << folder << ": " << name;
            EXPECT_TRUE(tensor.elements() == found->second.elements() &&
                        tensor.to_vector<float>() == found->second.to_vector<float>())
                << folder << ": " << name;
        }
    }
}

TEST(Siglip, WhatDoesNotFitIsAnErrorThatNamesIt) {
    testing::expect_rejected(tiny_siglip, "\"projection_size\": 8", "\"projection_size\": 9",
                             "text_config.projection_size");
    testing::expect_rejected(tiny_siglip, "\"num_attention_heads\": 3", "\"num_attention_heads\": 5",
                             "text_config.num_attention_heads");
    testing::expect_rejected(tiny_siglip, "\"patch_size\": 4", "\"vision_use_head\": false, \"patch_size\": 4",
                             "vision_config.vision_use_head");
    testing::expect_rejected(tiny_siglip, "\"patch_size\": 4", "\"patch_size\": 0", "vision_config.patch_size");

    const auto model = build(config_of(tiny_siglip));
    testing::randomise(*model);
    Batch batch = pairs();
    batch.input_ids = Tensor::zeros({1, 7}, DType::I64);
    expect_error([&] { model->forward(batch); }, {"input_ids", "6 tokens", "(1, 7)"});
    batch.input_ids = {};
    expect_error([&] { model->forward(batch); }, {"input_ids"});
    batch.pixel_values = {};
    expect_error([&] { model->forward(batch); }, {"input_ids"});
}

}  // namespace
}  // namespace tessera::models
