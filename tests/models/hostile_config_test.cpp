// A stranger's config.json: whatever a field says, building ends soon, in a model or in one Error that names the file.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "support/expect_error.h"
#include "support/tiny_config.h"
#include "tessera/models/catalog.h"
#include "tessera/models/settings.h"
#include "tessera/models/summary.h"

namespace tessera::models {
namespace {

using formats::Json;
using testing::config_of;
using testing::expect_error;
using testing::replaced;

const std::string source = "config.json";

// One configuration of every family at least: those of the reference cases, and the families that have none.
std::vector<Json> every_family() {
    std::vector<Json> found;
    for (const auto& entry : std::filesystem::directory_iterator(TESSERA_SOURCE_DIR "/tests/goldens"))
        if (std::filesystem::exists(entry.path() / "config.json"))
            found.push_back(Json::read(entry.path() / "config.json"));
    for (
        const char* text :
        {R"({"model_type": "mlp_classifier", "input_width": 8, "hidden_widths": [6, 4], "classes": 3, "dropout": 0.1})",
         R"({"model_type": "autoencoder", "input_width": 8, "encoder_widths": [4, 2], "activation": "relu"})",
         R"({"model_type": "rnn_lm", "cell": "gru", "vocabulary_size": 16, "hidden_width": 8, "embedding_width": 4,
              "layers": 2, "dropout": 0.1})",
         R"({"model_type": "bahdanau", "source_vocabulary_size": 9, "target_vocabulary_size": 8, "hidden_width": 8,
              "embedding_width": 4, "attention_width": 4, "layers": 1, "dropout": 0.1, "decoder_start_token_id": 1})",
         R"({"model_type": "ngram", "vocabulary_size": 8, "order": 3, "smoothing": 0.5})",
         R"({"model_type": "palm", "vocab_size": 16, "hidden_size": 8, "num_hidden_layers": 2, "head_dim": 4,
              "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 16, "layer_norm_eps": 1e-5})",
         R"({"model_type": "siglip_vision_model", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
              "intermediate_size": 16, "image_size": 8, "patch_size": 4, "num_channels": 3, "vision_use_head": true})"})
        found.push_back(Json::parse(text, source));
    return found;
}

// The same with every field in turn, sections' too, replaced by the value.
std::vector<std::pair<std::string, Json>> with_each_field(const Json& config, const Json& value) {
    std::vector<std::pair<std::string, Json>> out;
    for (const auto& [name, old] : config.members()) {
        if (name == "model_type") continue;
        Json changed = config;
        out.emplace_back(name, changed.set(name, value));
        if (!old.is_object()) continue;
        for (auto& [inner, section] : with_each_field(old, value)) {
            Json whole = config;
            out.emplace_back(text_of(name, ".", inner), whole.set(name, std::move(section)));
        }
    }
    return out;
}

void expect_model_or_error(const Json& config, const std::string& what) {
    // What a model takes to build goes with its tensors: no few digits may ask for more than these.
    constexpr std::size_t most_tensors = 200'000;
    try {
        const std::unique_ptr<Model> model = build(Config(config, source));
        EXPECT_GE(summarise(*model).parameters, 1) << what;
        EXPECT_LE(nn::parameters(*model).size(), most_tensors) << what;
    } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_TRUE(text.starts_with("config.json: ")) << what << ": " << text;
    }
}

class HostileConfig : public ::testing::TestWithParam<const char*> {};

TEST_P(HostileConfig, EveryFieldOfEveryFamilyTakesTheValueOrRefusesItByName) {
    const Json value = Json::parse(GetParam(), "value");
    for (const Json& config : every_family())
        for (const auto& [field, changed] : with_each_field(config, value))
            expect_model_or_error(changed, text_of(Config(config, source).text("model_type"), ": ", field));
}

INSTANTIATE_TEST_SUITE_P(Values, HostileConfig,
                         ::testing::Values("-1", "0", "1", "3", "512", "4097", "16777216", "2000000000",
                                           "4611686018427387904", "-9223372036854775808", "-0.5", "0.3", "1e-300",
                                           "1e300", "null", "true", "\"\"", "\"x\"", "[]", "{}", "[1, 2]", "[[[]]]",
                                           "[-1]", "[1e300]", "[\"full_attention\"]"));

TEST(HostileConfig, TheListOfFamiliesIsWhole) {
    std::set<std::string> tried, known;
    for (const Json& config : every_family()) tried.insert(Config(config, source).text("model_type"));
    for (const Architecture* architecture : catalog()) known.insert(architecture->model_type);
    EXPECT_EQ(tried, known);
}

const std::string small_llama = R"({"model_type": "llama", "vocab_size": 32, "hidden_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 32})";

TEST(HostileConfig, ErrorsNameTheFieldAndItsLimit) {
    const auto refuses = [](const std::string& from, const std::string& to, std::initializer_list<std::string> parts) {
        expect_error([&] { build(config_of(replaced(small_llama, from, to))); }, parts);
    };
    refuses("\"num_hidden_layers\": 1", "\"num_hidden_layers\": 2000000000",
            {"config.json: num_hidden_layers: ", "at most 4096", "2000000000"});
    refuses("\"vocab_size\": 32", "\"vocab_size\": 2000000000", {"config.json: vocab_size: ", "at most 16777216"});
    refuses("\"vocab_size\": 32", "\"rms_norm_eps\": -1", {"config.json: rms_norm_eps: ", "-1"});
    refuses("\"vocab_size\": 32", "\"attention_dropout\": 1", {"config.json: attention_dropout: ", "below 1"});
    refuses("\"vocab_size\": 32", "\"rope_theta\": 1e39", {"config.json: rope_theta: "});
    refuses("\"vocab_size\": 32", R"("rope_scaling": {"rope_type": "linear", "factor": 0})",
            {"config.json: rope_scaling.factor: "});
}

TEST(HostileConfig, TheLargestThatIsTakenIsBuiltSoon) {
    Json factors = Json::array();
    for (std::int64_t i = 0; i < count_limit / 2; ++i) factors.push_back(1.5);
    Json rope = Json::object().set("rope_type", "longrope").set("short_factor", factors).set("long_factor", factors);
    expect_model_or_error(Json::object()
                              .set("model_type", "phi3")
                              .set("vocab_size", 32)
                              .set("pad_token_id", 0)
                              .set("hidden_size", 64)
                              .set("num_hidden_layers", count_limit)
                              .set("num_attention_heads", count_limit)
                              .set("head_dim", count_limit)
                              .set("max_position_embeddings", 4096)
                              .set("rope_scaling", std::move(rope)),
                          "the largest");
}

TEST(HostileConfig, SizesThatFitEachAloneMayBeTooManyTogether) {
    expect_error(
        [] {
            build(config_of(R"({"model_type": "mixtral", "hidden_size": 16777216, "intermediate_size": 16777216,
                "num_attention_heads": 4096, "num_local_experts": 4096, "num_hidden_layers": 64})"));
        },
        {"config.json: ", "parameters", "more than"});
    expect_error(
        [] { build(config_of(R"({"model_type": "marian", "d_model": 16384, "max_position_embeddings": 16384})")); },
        {"config.json: max_position_embeddings: "});
}

TEST(HostileConfig, MillionsOfMissingTensorsMakeOneShortError) {
    const Config config = config_of(R"({"model_type": "mixtral", "vocab_size": 8, "hidden_size": 8,
        "intermediate_size": 8, "num_attention_heads": 2, "num_key_value_heads": 2, "num_local_experts": 4096,
        "num_hidden_layers": 512})");
    const std::unique_ptr<Model> model = build(config);
    try {
        load_weights(*model, model->weights, {}, "folder");
        ADD_FAILURE() << "no error was thrown";
    } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_TRUE(text.starts_with("folder: ")) << text;
        EXPECT_LT(text.size(), 4000U);
        EXPECT_EQ(text.find('\n'), text.npos);
    }
}

}  // namespace
}  // namespace tessera::models
