// The spread of a new model's weights is the one that its configuration asks for, of each part and each layer.
#include <gtest/gtest.h>

#include <cmath>

#include "support/tiny_config.h"
#include "tessera/models/catalog.h"

namespace tessera::models {
namespace {

using testing::config_of;
using testing::expect_error;

// Over all matrices whose names begin and end so.
double spread_of(Model& model, const std::string& beginning, const std::string& ending) {
    double squares = 0;
    std::int64_t count = 0;
    for (const auto& [name, tensor] : nn::parameters(model)) {
        if (tensor->rank() < 2 || !name.starts_with(beginning) || !name.ends_with(ending)) continue;
        for (const float value : tensor->to_vector<float>()) squares += static_cast<double>(value) * value;
        count += tensor->elements();
    }
    EXPECT_GT(count, 2000) << beginning << " " << ending;  // so that the spread is known to a few hundredths
    return std::sqrt(squares / static_cast<double>(count));
}

void expect_spread(Model& model, double expected, const std::string& beginning, const std::string& ending = "") {
    EXPECT_NEAR(spread_of(model, beginning, ending), expected, 0.08 * expected) << beginning << " " << ending;
}

std::string with_range(double range) { return text_of("\"initializer_range\": ", range, ", "); }

std::string paligemma(const std::string& whole, const std::string& text, const std::string& vision) {
    return text_of(R"({"model_type": "paligemma", "image_token_index": 40, "projection_dim": 48, )", whole,
                   R"("text_config": {)", text, R"("model_type": "gemma", "hidden_size": 48, "num_attention_heads": 2,
        "num_key_value_heads": 1, "head_dim": 24, "num_hidden_layers": 1, "intermediate_size": 40, "vocab_size": 50},
    "vision_config": {)",
                   vision, R"("model_type": "siglip_vision_model", "hidden_size": 48, "num_attention_heads": 2,
        "num_hidden_layers": 1, "intermediate_size": 40, "image_size": 8, "patch_size": 4, "vision_use_head": false}})");
}

TEST(FirstWeights, PartsOfPaliGemmaTakeTheirSectionsSpread) {
    const auto model = initialised(config_of(paligemma("", with_range(0.05), with_range(0.2))), 1);
    expect_spread(*model, 0.2, "vision.");
    expect_spread(*model, 0.05, "language.");
    expect_spread(*model, 0.05, "projector.");
}

TEST(FirstWeights, APartWithoutASpreadTakesTheWholes) {
    const auto model = initialised(config_of(paligemma(with_range(0.1), "", with_range(0.3))), 1);
    expect_spread(*model, 0.3, "vision.");
    expect_spread(*model, 0.1, "language.");
    const auto usual = initialised(config_of(paligemma("", "", "")), 1);
    expect_spread(*usual, 0.02, "vision.");
    expect_spread(*usual, 0.02, "language.");
}

TEST(FirstWeights, PartsOfSiglipTakeTheirSectionsSpread) {
    const std::string sizes =
        R"("hidden_size": 48, "num_attention_heads": 3, "num_hidden_layers": 1, "intermediate_size": 40)";
    const auto model =
        initialised(config_of(text_of(
                        R"({"model_type": "siglip", "text_config": {"vocab_size": 17, "max_position_embeddings": 6, )",
                        with_range(0.05), sizes, R"(}, "vision_config": {"image_size": 8, "patch_size": 4, )",
                        with_range(0.2), sizes, "}}")),
                    1);
    expect_spread(*model, 0.2, "vision.");
    expect_spread(*model, 0.05, "text.");
}

// Radford et al. 2019: by the root of how many layers add to the stream.
TEST(FirstWeights, WhatGpt2AddsToItsStreamBeginsSmaller) {
    const auto model = initialised(config_of(R"({"model_type": "gpt2", "n_embd": 48, "n_head": 2, "n_layer": 2,
        "n_positions": 50, "vocab_size": 60, "initializer_range": 0.1})"),
                                   1);
    expect_spread(*model, 0.05, "", "attention.output.weight");
    expect_spread(*model, 0.05, "", "feed_forward.down.weight");
    expect_spread(*model, 0.1, "", "feed_forward.up.weight");
    expect_spread(*model, 0.1, "tokens");
}

TEST(FirstWeights, ASpreadBelowZeroIsRefused) {
    expect_error([&] { initialised(config_of(paligemma("", with_range(-0.5), "")), 1); },
                 {"config.json", "text_config.initializer_range", "-0.5"});
}

TEST(FirstWeights, BartsFamilyCallsTheSpreadInitStd) {
    const auto model = initialised(config_of(R"({"model_type": "bart", "d_model": 48, "encoder_layers": 1,
        "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": 40,
        "decoder_ffn_dim": 40, "vocab_size": 60, "max_position_embeddings": 20, "init_std": 0.1})"),
                                   1);
    expect_spread(*model, 0.1, "encoder.");
    expect_spread(*model, 0.1, "decoder.");
}

}  // namespace
}  // namespace tessera::models
