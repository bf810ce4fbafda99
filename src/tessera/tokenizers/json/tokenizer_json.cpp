#include "tessera/tokenizers/json/tokenizer_json.h"

#include "tessera/core/error.h"
#include "tessera/formats/byte_reader.h"
#include "tessera/tokenizers/json/component.h"
#include "tessera/tokenizers/pipeline.h"
#include "tessera/tokenizers/tokenizer_file.h"

namespace tessera::tokenizers {
namespace {

using formats::Json;

const Json* present(const Json& json, const char* name) {
    const Json* found = json.find(name);
    return found && !found->is_null() ? found : nullptr;
}

// A token that the model knows has the model's id; ids of others are the file's.
std::vector<AddedToken> read_added(const Json& json, const Vocabulary& vocabulary, const std::string& source) {
    std::vector<AddedToken> tokens;
    const Json* list = present(json, "added_tokens");
    if (!list) return tokens;
    check(list->is_array(), source, ": added_tokens: expected a list");
    for (const Json& entry : list->items()) {
        const formats::Config token(entry, source, text_of("added_tokens[", tokens.size(), "]"));
        AddedToken added{.content = token.text("content"),
                         .id = token.integer("id"),
                         .single_word = token.boolean("single_word", false),
                         .left_strip = token.boolean("lstrip", false),
                         .right_strip = token.boolean("rstrip", false),
                         .normalized = token.boolean("normalized", true),
                         .special = token.boolean("special", false)};
        const std::int32_t known = vocabulary.find(added.content);
        if (known >= 0) added.id = known;
        check(added.id >= 0 && added.id < Vocabulary::most_ids, source, ": added_tokens[", tokens.size(),
              "].id: ", added.id, " is outside 0 … ", Vocabulary::most_ids - 1);
        tokens.push_back(std::move(added));
    }
    return tokens;
}

std::optional<Truncation> read_truncation(const Json& json, const std::string& source) {
    const Json* settings = present(json, "truncation");
    if (!settings) return {};
    const formats::Config config(*settings, source, "truncation");
    return Truncation{.length = config.integer("max_length"),
                      .stride = config.integer("stride", 0),
                      .from_left = config.text("direction", "Right") == "Left",
                      .strategy = config.text("strategy", "LongestFirst")};
}

std::optional<Padding> read_padding(const Json& json, const std::string& source) {
    const Json* settings = present(json, "padding");
    if (!settings) return {};
    const formats::Config config(*settings, source, "padding");
    Padding padding{.multiple_of = config.integer("pad_to_multiple_of", 1),
                    .id = config.integer("pad_id", 0),
                    .on_left = config.text("direction", "Right") == "Left"};
    const Json* strategy = present(*settings, "strategy");  // "BatchLongest" or {"Fixed": 128}
    if (strategy && strategy->is_object()) padding.length = config.section("strategy").integer("Fixed");
    return padding;
}

}  // namespace

std::shared_ptr<Tokenizer> parse_tokenizer_json(const Json& json, const std::string& source) {
    check(json.is_object(), source, ": expected an object");
    const auto component = [&](const char* name) -> std::optional<Component> {
        const Json* found = present(json, name);
        if (!found) return {};
        check(found->is_object(), source, ": ", name, ": expected an object, found ", *found);
        check_stages(*found, text_of(source, ": ", name));
        return Component(*found, source, name);
    };
    const std::optional<Component> normalizer = component("normalizer"), words = component("pre_tokenizer"),
                                   around = component("post_processor"), decoder = component("decoder");
    const Json* model = present(json, "model");
    check(model != nullptr, source, ": model: is missing");
    ReadModel read = read_model(*model, source, words && ends_in_byte_level(*words));

    PipelineParts parts{.model = std::move(read.model)};
    if (normalizer) parts.normalizer = read_normalizer(*normalizer);
    if (words) parts.pre_tokenizer = read_pre_tokenizer(*words, read.raw);
    if (around) parts.around = read_post_processor(*around);
    if (decoder) parts.decoder = read_decoder(*decoder);
    parts.added = read_added(json, parts.model->vocabulary(), source);
    std::shared_ptr<Tokenizer> tokenizer = make_pipeline(std::move(parts));
    tokenizer->truncation = read_truncation(json, source);
    tokenizer->padding = read_padding(json, source);
    return tokenizer;
}

std::shared_ptr<Tokenizer> read_tokenizer_json(const std::filesystem::path& path) {
    return parse_tokenizer_json(Json::read(path, {.bytes = std::size_t{256} << 20, .values = 16'000'000}),
                                path.string());
}

namespace {

const RegisterTokenizerFile registered({
    .in_folder = "tokenizer.json",
    .rank = 0,
    .fits =
        [](const std::filesystem::path& file) {
            return file.extension() == ".json" && file.filename() != "vocab.json";
        },
    .open = read_tokenizer_json,
});

}  // namespace

}  // namespace tessera::tokenizers
