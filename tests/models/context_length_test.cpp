// How long a text each family is made for: as its configuration says, as its rotary positions are stretched, and as its
// class takes it where nothing is said.
#include "tessera/models/context_length.h"

#include <gtest/gtest.h>

#include <map>

#include "support/expect_error.h"
#include "support/golden_folders.h"
#include "support/tiny_config.h"
#include "tessera/models/import/gguf_config.h"

namespace tessera::models {
namespace {

using testing::config_of;

const std::map<std::string, std::int64_t> context_of_goldens{
    {"bart", 64},
    {"bart-b", 40},
    {"bert-mlm", 64},
    {"deepseek-v2", 128},
    {"deepseek-v2-lite", 128},
    {"deepseek-yarn", 64},  // 16 × 4
    {"falcon-40b-style", 128},
    {"falcon-7b-style", 128},
    {"falcon-one-norm", 64},
    {"falcon-rw", 64},  // ALiBi goes on past it; this is what the file says
    {"falcon-rw-12", 600},
    {"gemma", 128},
    {"gemma2", 128},
    {"gemma2-nocap", 64},
    {"gemma3-b", 64},  // the factor of 8 is counted in it
    {"gemma3-text", 128},
    {"gpt-neox", 128},
    {"gpt2", 64},
    {"gpt2-inverse-layer", 40},
    {"llama", 128},
    {"llama-gqa", 128},
    {"llama-yarn", 64},
    {"llama3-rope-scaled", 128},
    {"longformer-long", 58},
    {"longformer-mlm", 64},
    {"marian-original-transformer", 64},
    {"mistral-sliding-window", 256},
    {"mistral-w5", 64},
    {"mixtral", 128},
    {"neox-serial", 64},
    {"paligemma", 128},
    {"paligemma2", 128},
    {"palm-style", 0},
    {"phi3", 128},
    {"phi3-longrope-short", 128},
    {"phi3-partial", 64},
    {"qwen2", 128},
    {"qwen2-window", 64},
    {"qwen3", 128},
    {"roberta-mlm", 64},
    {"siglip", 16},
    {"t5", 0},
    {"t5-silu", 0},
    {"t5-v1.1", 0},
    {"training-curve-llama", 64},
    {"vit", 0},
};

std::int64_t context_of_long_case(const std::string& name) {
    if (name.starts_with("t5")) return 0;
    if (name.starts_with("bert")) return 1030;
    if (name.starts_with("roberta") || name == "longformer") return 1028;
    if (name.starts_with("llama-dynamic-later")) return 1240;
    if (name.starts_with("llama-linear")) return 4096;
    if (name.starts_with("gemma-linear")) return 2048;
    return 1024;  // dynamic and yarn: 256 × 4
}

class Goldens : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Goldens, HaveTheContextOfTheirConfiguration) {
    const std::string name = GetParam().filename().string();
    const bool is_long = GetParam().parent_path().filename() == "long";
    ASSERT_TRUE(is_long || context_of_goldens.contains(name)) << "a golden whose context is not stated here";
    const auto model = build(formats::read_config(GetParam()));
    EXPECT_EQ(model->context_length(), is_long ? context_of_long_case(name) : context_of_goldens.at(name));
    EXPECT_TRUE(model->longest_text() == 0 || model->context_length() <= model->longest_text());
}

std::vector<std::filesystem::path> long_folders() {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(testing::golden_path("long")))
        if (entry.is_directory()) found.push_back(entry.path());
    return found;
}

INSTANTIATE_TEST_SUITE_P(LongContext, Goldens, ::testing::ValuesIn(long_folders()), testing::folder_name);
INSTANTIATE_TEST_SUITE_P(ContextLength, Goldens, ::testing::ValuesIn(testing::model_folders()), testing::folder_name);

std::int64_t context_of(const std::string& fields) {
    return read_context_length(config_of("{" + fields + "}"), 2048, Stretch::ByKind);
}

TEST(ContextLength, FollowsTheStretchOfRotaryPositionsInBothSpellings) {
    const std::string stated = R"("max_position_embeddings": 1000, )";
    for (const auto& [object, type] :
         {std::pair("rope_scaling", "type"), {"rope_scaling", "rope_type"}, {"rope_parameters", "rope_type"}}) {
        const auto with = [&](const std::string& kind, const std::string& more) {
            return context_of(stated + "\"" + object + "\": {\"" + type + "\": \"" + kind + "\"" + more + "}");
        };
        EXPECT_EQ(with("default", ""), 1000);
        EXPECT_EQ(with("linear", R"(, "factor": 2.5)"), 2500);
        EXPECT_EQ(with("dynamic", R"(, "factor": 4)"), 4000);
        EXPECT_EQ(with("yarn", R"(, "factor": 4)"), 4000);
        EXPECT_EQ(with("yarn", R"(, "factor": 4, "original_max_position_embeddings": 500)"), 2000);
        EXPECT_EQ(with("yarn", R"(, "factor": 4, "original_max_position_embeddings": 250)"), 1000);
        EXPECT_EQ(with("yarn", R"(, "factor": 2, "original_max_position_embeddings": 250)"), 1000);
        EXPECT_EQ(with("llama3", R"(, "factor": 8, "original_max_position_embeddings": 125)"), 1000);
        EXPECT_EQ(with("longrope", R"(, "factor": 8, "original_max_position_embeddings": 125)"), 1000);
        EXPECT_EQ(with("su", R"(, "short_factor": [1], "long_factor": [2])"), 1000);
    }
    EXPECT_EQ(context_of(stated + R"("original_max_position_embeddings": 2000,
        "rope_scaling": {"type": "yarn", "factor": 4})"),
              8000);
    EXPECT_EQ(context_of(R"("rope_scaling": {"type": "linear", "factor": 4})"), 8192);  // of the class's default
    EXPECT_EQ(context_of(R"("max_position_embeddings": null)"), 2048);
    EXPECT_EQ(context_of(stated + R"("rope_scaling": null)"), 1000);
    // A factor that no text could follow.
    EXPECT_EQ(context_of(stated + R"("rope_scaling": {"type": "linear", "factor": 1e300})"), std::int64_t{1} << 40);
    testing::expect_error([] { context_of(R"("max_position_embeddings": -1)"); },
                          {"config.json", "max_position_embeddings", "-1"});
}

TEST(ContextLength, IsTheDefaultOfTheReferencesClassWhereNothingIsSaid) {
    const auto context = [](const std::string& fields) {
        return build(config_of("{" + fields + "}"))->context_length();
    };
    const std::map<std::string, std::int64_t> defaults{
        {"llama", 2048},  {"mistral", 131072},     {"mixtral", 131072},   {"phi3", 4096},
        {"qwen2", 32768}, {"qwen3", 32768},        {"gemma", 8192},       {"gemma2", 8192},
        {"falcon", 2048}, {"gemma3_text", 131072}, {"gpt_neox", 2048},    {"gpt2", 1024},
        {"bert", 512},    {"bart", 1024},          {"deepseek_v2", 2048}, {"t5", 0}};
    for (const auto& [type, length] : defaults) EXPECT_EQ(context("\"model_type\": \"" + type + "\""), length) << type;
    EXPECT_EQ(context(R"("model_type": "falcon", "alibi": true)"), 0);
    EXPECT_EQ(context(R"("model_type": "palm")"), 0);
    EXPECT_EQ(context(R"("model_type": "palm", "max_position_embeddings": 512)"), 512);
    // Gemma 3 has counted its stretch, older file or newer.
    EXPECT_EQ(context(R"("model_type": "gemma3_text", "max_position_embeddings": 4096,
        "rope_scaling": {"rope_type": "linear", "factor": 8})"),
              4096);
}

}  // namespace
}  // namespace tessera::models
