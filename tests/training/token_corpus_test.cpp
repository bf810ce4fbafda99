// Tokens that were kept for later runs are taken only where the same tokenizer made them.
#include "tessera/training/token_corpus.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"
#include "tessera/models/catalog.h"
#include "tessera/training/recipe/recipe_keys.h"

namespace tessera::training {
namespace {

const char* const tiny =
    R"({"model_type": "llama", "vocab_size": 8, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1,
    "num_key_value_heads": 1, "intermediate_size": 8, "max_position_embeddings": 8})";

std::string word_level(const std::string& vocabulary) {
    return R"({"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": null, "decoder": null, "model": {"type": "WordLevel", "unk_token": "?", "vocab": )" +
           vocabulary + "}}";
}

TEST(TokenCorpus, KeepsTheTokensOfEachTokenizerApart) {
    testing::TemporaryFolder folder;
    folder.write("text.txt", "tern gull tern gull");
    const auto model = models::initialised({formats::Json::parse(tiny, "config.json"), "config.json"}, 1);
    const Recipe recipe = read_recipe(resolve_recipe(
        formats::Json::object()
            .set("model", "m")
            .set("data",
                 formats::Json::object().set("train", (folder / "text.txt").string()).set("length", std::int64_t{2})),
        {}, "test"));
    const auto tokens_by = [&](const std::string& name, const std::string& vocabulary) {
        folder.write(name + "/tokenizer.json", word_level(vocabulary));
        ObjectiveInputs inputs{.recipe = recipe, .model = *model};
        inputs.tokenizer = tokenizers::open_tokenizer(folder / name);
        inputs.data = {(folder / "text.txt").string()};
        inputs.cache = folder.path();
        const data::TokenFile made = tokenised(inputs);
        return std::vector<std::int64_t>(made.tokens().begin(), made.tokens().end());
    };
    // Equally large, and the same on every text without these two words.
    const std::vector<std::int64_t> first = tokens_by("first", R"({"?": 0, "tern": 1, "gull": 2})");
    EXPECT_EQ(first, (std::vector<std::int64_t>{1, 2, 1, 2}));
    EXPECT_EQ(tokens_by("second", R"({"?": 0, "tern": 2, "gull": 1})"), (std::vector<std::int64_t>{2, 1, 2, 1}));
    EXPECT_EQ(tokens_by("first", R"({"?": 0, "tern": 1, "gull": 2})"), first);
}

}  // namespace
}  // namespace tessera::training
