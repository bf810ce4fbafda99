// Packed documents: what is learned from a window is what its documents alone would teach.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/letter_tokenizer.h"
#include "support/temporary_folder.h"
#include "tessera/models/catalog.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/run/trainer.h"

namespace tessera::training {
namespace {

const char* const rotary =
    R"({"model_type": "llama", "vocab_size": 256, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 64, "max_position_embeddings": 64})";
const char* const learned =
    R"({"model_type": "gpt2", "vocab_size": 256, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64})";

class Packed : public ::testing::Test {
   protected:
    Evaluation evaluated(const models::Model& model, const std::string& text, std::int64_t length) {
        folder_.write("text.txt", text);
        const Recipe recipe = read_recipe(resolve_recipe(
            formats::Json::object()
                .set("model", "m")
                .set("data", formats::Json::object().set("train", "t").set("separator", "|").set("length", length)),
            {}, "test"));
        ObjectiveInputs inputs{.recipe = recipe, .model = model};
        inputs.tokenizer = std::make_shared<testing::LetterTokenizer>();
        inputs.data = {folder_ / "text.txt"};
        inputs.cache = folder_.path();
        return evaluate(model, *make_objective(inputs), recipe, {.most_examples = 100});
    }
    testing::TemporaryFolder folder_;
};

TEST_F(Packed, DocumentsDoNotSeeEachOther) {
    for (const char* config : {rotary, learned}) {
        auto model = models::initialised({formats::Json::parse(config, "config.json"), "config.json"}, 5);
        const std::vector<std::string> documents{"a first text", "another", "and the longest of all three"};
        double total = 0;
        std::int64_t targets = 0, tokens = 0;
        std::string joined;
        for (const std::string& document : documents) {
            const auto length = static_cast<std::int64_t>(document.size()) + 2;  // with its first and last token
            const Evaluation alone = evaluated(*model, document, length);
            EXPECT_EQ(alone.targets, length - 1);
            total += alone.loss * static_cast<double>(alone.targets);
            targets += alone.targets;
            tokens += length;
            joined += (joined.empty() ? "" : "|") + document;
        }
        const Evaluation packed = evaluated(*model, joined, tokens);
        EXPECT_EQ(packed.targets, targets);
        EXPECT_NEAR(packed.loss, total / static_cast<double>(targets), 1e-6);
    }
}

TEST_F(Packed, TooLittleDataIsReported) {
    const auto model = models::initialised({formats::Json::parse(rotary, "config.json"), "config.json"}, 5);
    testing::expect_error([&] { evaluated(*model, "short", 50); }, {"7 tokens", "50"});
}

}  // namespace
}  // namespace tessera::training
