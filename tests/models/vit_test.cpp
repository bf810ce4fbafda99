// What the reference case does not show: the bare encoder's checkpoints, images that are no whole number of patches,
// and settings or inputs that do not fit.
#include <gtest/gtest.h>

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

const std::string tiny_vit =
    R"({"model_type": "vit", "hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 2,
    "intermediate_size": 20, "image_size": 8, "patch_size": 4, "num_channels": 2, "id2label": {"0": "a", "1": "b", "2": "c"}})";

TEST(Vit, TheBareEncodersCheckpointLoadsWithAndWithoutPrefixAndPooler) {
    const formats::Checkpoint whole = formats::open_checkpoint(testing::golden_path("vit"));
    const auto classifier = load(whole);
    const NoGrad no_grad;
    const Batch batch{.pixel_values = random_tensor({2, 3, 32, 32}, 1, -1, 1, DType::F32)};
    Tensor states;
    classifier->forward(batch, {}, [&](const std::string& name, const Tensor& value) {
        if (name == "last_hidden") states = value;
    });
    formats::Json fields = whole.config.json();
    fields.set("architectures", formats::Json::array().push_back("ViTModel"));
    for (const std::string prefix : {"", "vit."}) {
        formats::Checkpoint bare;
        bare.config = {fields, "config.json"};
        for (const auto& [name, tensor] : whole.tensors)
            if (name.starts_with("vit.")) bare.tensors.emplace(prefix + name.substr(4), tensor);
        bare.tensors.emplace(prefix + "pooler.dense.weight", Tensor::zeros({48, 48}));
        bare.tensors.emplace(prefix + "pooler.dense.bias", Tensor::zeros({48}));
        const auto encoder = load(bare);
        const auto all_states = [](const std::string&, const Tensor&) {};
        EXPECT_TRUE(same_bits(encoder->forward(batch, {}, all_states), ops::select(states, 1, 0))) << prefix;
        expect_error([&] { encoder->loss(batch); }, {"config.json", "no classifier"});
    }
}

// Nobody sees the states: the last block makes [CLS]'s alone.
TEST(Vit, ScoresAreTheSameWhetherStatesAreSeenOrNot) {
    const auto model = build(config_of(tiny_vit));
    testing::randomise(*model);
    const Batch batch{.pixel_values = random_tensor({3, 2, 8, 8}, 1)};
    Tensor states;
    const Tensor seen = model->forward(batch, {}, [&](const std::string&, const Tensor& value) { states = value; });
    EXPECT_EQ(states.shape(), (Shape{3, 5, 12}));
    EXPECT_LE(relative_error(model->forward(batch), seen), 1e-12);
}

TEST(Vit, EveryParameterLearns) {
    const auto model = build(config_of(tiny_vit));
    testing::randomise(*model);
    const Batch batch{.pixel_values = random_tensor({2, 2, 8, 8}, 1),
                      .labels = Tensor::from<std::int64_t>({2, 0}, {2})};
    testing::expect_gradients(*model, [&] { return model->loss(batch); });
}

TEST(Vit, ABatchIsItsImages) {
    const auto model = build(config_of(tiny_vit));
    testing::randomise(*model);
    const NoGrad no_grad;
    const Tensor pixels = random_tensor({3, 2, 8, 8}, 1), together = model->forward({.pixel_values = pixels});
    for (std::int64_t row = 0; row < 3; ++row)
        EXPECT_LE(relative_error(model->forward({.pixel_values = ops::slice(pixels, 0, row, row + 1)}),
                                 ops::slice(together, 0, row, row + 1)),
                  1e-12);
}

TEST(Vit, WhatFillsNoPatchIsNotSeen) {
    const auto model = build(config_of(tiny_vit)),
               larger = build(config_of(replaced(tiny_vit, "\"image_size\": 8", "\"image_size\": 11")));
    testing::randomise(*model);
    testing::randomise(*larger);  // the same seed, so the same weights
    const NoGrad no_grad;
    const Tensor pixels = random_tensor({1, 2, 11, 11}, 1);
    EXPECT_LE(relative_error(larger->forward({.pixel_values = pixels}),
                             model->forward({.pixel_values = ops::slice(ops::slice(pixels, 2, 0, 8), 3, 0, 8)})),
              1e-12);
}

TEST(Vit, WithoutBiasesOnQueryKeyAndValue) {
    const auto model =
        build(config_of(replaced(tiny_vit, "\"num_channels\"", "\"qkv_bias\": false, \"num_channels\"")));
    EXPECT_EQ(nn::parameter_count(*build(config_of(tiny_vit))) - nn::parameter_count(*model), 2 * 3 * 12);
}

TEST(Vit, WhatDoesNotFitIsAnErrorThatNamesIt) {
    testing::expect_rejected(tiny_vit, "\"num_attention_heads\": 3", "\"num_attention_heads\": 5",
                             "num_attention_heads");
    testing::expect_rejected(tiny_vit, "\"patch_size\": 4", "\"patch_size\": 9", "patch_size");
    testing::expect_rejected(tiny_vit, "\"id2label\"", "\"num_labels\": 4, \"id2label\"", "num_labels");
    testing::expect_rejected(tiny_vit, "{\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}", "{}", "id2label");
    testing::expect_rejected(tiny_vit, "\"hidden_size\": 12", "\"hidden_act\": \"sine\", \"hidden_size\": 12",
                             "hidden_act");

    const auto model = build(config_of(tiny_vit));
    testing::randomise(*model);
    expect_error([&] { model->forward({}); }, {"pixel_values"});
    expect_error(
        [&] {
            model->forward({.pixel_values = random_tensor({1, 2, 8, 12}, 1)});
        },
        {"pixel_values", "image_size", "(1, 2, 8, 12)"});
    expect_error([&] { model->loss({.pixel_values = random_tensor({1, 2, 8, 8}, 1)}); }, {"labels"});
}

}  // namespace
}  // namespace tessera::models
