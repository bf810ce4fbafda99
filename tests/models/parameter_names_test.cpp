// The Hub's names of parameters, against the checkpoints that have them.
#include "tessera/models/parameter_names.h"

#include <gtest/gtest.h>

#include <map>

#include "support/golden_folders.h"
#include "support/goldens.h"
#include "tessera/models/catalog.h"

namespace tessera::models {
namespace {

// Every tensor of every golden checkpoint that is a parameter, with its shape and nothing else.
TEST(ParameterNames, AreThoseOfTheCheckpoints) {
    std::size_t folders = 0;
    for (const std::filesystem::path& folder : testing::model_folders("loss")) {
        const std::unique_ptr<Model> model = load(folder), deferred = build(config_named(folder.string()));
        std::map<std::string, Shape> expected, found;
        for (const auto& [name, tensor] :
             checkpoint_tensors(*model, model->weights, [](const Tensor& value) { return value.detach(); }))
            expected.emplace(name, tensor.shape());
        for (const StoredParameter& parameter : stored_parameters(*deferred))
            EXPECT_TRUE(found.emplace(parameter.name, parameter.shape).second) << folder << ": " << parameter.name;
        EXPECT_EQ(found, expected) << folder;
        ++folders;
    }
    EXPECT_GT(folders, 10u);
}

std::vector<std::string> called(const std::string& golden, const std::string& part) {
    const std::unique_ptr<Model> model = load(testing::golden_path(golden));
    std::vector<std::string> ours;
    for (const auto& [name, tensor] : nn::parameters(*model))
        if (has_name_part(model->weights, name, part)) ours.push_back(name);
    return ours;
}

TEST(ParameterNames, ArePartsBetweenDots) {
    const std::vector<std::string> one{"layers.0.attention.query.weight"};
    EXPECT_EQ(called("llama", "model.layers.0.self_attn.q_proj.weight"), one);
    EXPECT_EQ(called("llama", "layers.0.self_attn.q_proj"), one);
    EXPECT_EQ(called("llama", "0.self_attn.q_proj"), one);
    EXPECT_EQ(called("llama", "layers.*.self_attn.q_proj").size(), called("llama", "q_proj").size());
    EXPECT_GT(called("llama", "q_proj").size(), 1u);
    for (const char* none : {"proj", "q_pro", "layers.0.q_proj", "", ".", "attention", "query"})
        EXPECT_TRUE(called("llama", none).empty()) << none;
}

// What a checkpoint keeps as one is named as one.
TEST(ParameterNames, FusedPartsGoTogether) {
    EXPECT_EQ(called("phi3", "layers.0.self_attn.qkv_proj").size(), 3u);
    EXPECT_GE(called("gpt2", "h.0.attn.c_attn").size(), 3u);
    EXPECT_GE(called("mixtral", "experts").size(), 2u);
}

// ViT's modules have other names in the running reference, which adapters go by.
TEST(ParameterNames, OfTheRunningReferenceToo) {
    EXPECT_EQ(called("vit", "layers.0.attention.q_proj"), called("vit", "layer.0.attention.attention.query"));
    EXPECT_FALSE(called("vit", "q_proj").empty());
}

}  // namespace
}  // namespace tessera::models
