#include "tessera/tokenizers/tokenizer_config.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <unordered_set>

#include "tessera/core/error.h"
#include "tessera/formats/byte_reader.h"
#include "tessera/formats/find_file.h"
#include "tessera/tokenizers/structures/hash.h"
#include "tessera/tokenizers/structures/vocabulary.h"

namespace tessera::tokenizers {
namespace {

using formats::Config;
using formats::Json;

constexpr std::size_t longest_template = std::size_t{4} << 20;

Config read_config(const std::filesystem::path& folder, const char* name) {
    const std::filesystem::path path = formats::find_file(folder, name);
    if (path.empty()) return {};
    return Config(Json::read(path), path.string());
}

// "text" or {"content": "text", …}.
std::string content_of(const Json* token) {
    if (token && token->is_object()) token = token->find("content");
    return token && token->is_string() ? token->as_string() : "";
}

std::string read_text(const std::filesystem::path& path) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    check(!error && bytes <= longest_template, path.string(), ": is no text of at most ", longest_template, " bytes");
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// A text, or a list of named templates, of which "default" counts.
std::string template_of(const Config& settings) {
    const Json* found = settings.json().find("chat_template");
    if (!found || found->is_null()) return "";
    if (found->is_string()) return found->as_string();
    check(found->is_array(), settings.source(), ": chat_template: expected a text or a list of named ones");
    for (const Json& entry : found->items()) {
        const Config named(entry, settings.source(), "chat_template");
        if (named.text("name") == "default") return named.text("template");
    }
    return "";
}

AddedToken read_token(const Config& token, std::int64_t id) {
    return {.content = token.text("content"),
            .id = id,
            .single_word = token.boolean("single_word", false),
            .left_strip = token.boolean("lstrip", false),
            .right_strip = token.boolean("rstrip", false),
            .normalized = token.boolean("normalized", false),
            .special = token.boolean("special", true)};
}

constexpr const char* roles[] = {"bos_token",  "eos_token", "unk_token", "pad_token",
                                 "mask_token", "sep_token", "cls_token"};

}  // namespace

std::string TokenizerConfig::token(const std::string& name) const {
    const std::string ours = content_of(settings.json().find(name));
    return ours.empty() ? content_of(special_map.json().find(name)) : ours;
}

std::vector<AddedToken> TokenizerConfig::added_tokens() const {
    std::vector<AddedToken> tokens;
    if (const Json* listed = settings.json().find("added_tokens_decoder"); listed && listed->is_object())
        for (const Json::Member& entry : listed->members()) {
            std::int64_t id = -1;
            const char* end = entry.key.data() + entry.key.size();
            const auto [read, error] = std::from_chars(entry.key.data(), end, id);
            check(error == std::errc() && read == end && id >= 0 && id < Vocabulary::most_ids, settings.source(),
                  ": added_tokens_decoder: expected an id, found ", formats::shown(entry.key));
            tokens.push_back(
                read_token(Config(entry.value, settings.source(), text_of("added_tokens_decoder.", entry.key)), id));
        }
    std::unordered_set<std::string, SeededHash, std::equal_to<>> known;
    for (const AddedToken& token : tokens) known.insert(token.content);
    const auto add = [&](const std::string& content) {
        if (!content.empty() && known.insert(content).second)
            tokens.push_back({.content = content, .id = -1, .special = true});
    };
    for (const char* role : roles) add(token(role));
    for (const Config* config : {&settings, &special_map})
        if (const Json* more = config->json().find("additional_special_tokens"); more && more->is_array())
            for (const Json& entry : more->items()) add(content_of(&entry));
    return tokens;
}

TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder) {
    TokenizerConfig config{.settings = read_config(folder, "tokenizer_config.json"),
                           .special_map = read_config(folder, "special_tokens_map.json")};
    const std::filesystem::path jinja = formats::find_file(folder, "chat_template.jinja");
    config.chat_template = !jinja.empty() ? read_text(jinja) : template_of(config.settings);
    return config;
}

void apply(const TokenizerConfig& config, Tokenizer& tokenizer) {
    SpecialTokens& special = tokenizer.special;
    std::optional<std::int64_t>* places[] = {&special.bos,  &special.eos,       &special.unknown,   &special.padding,
                                             &special.mask, &special.separator, &special.classifier};
    for (std::size_t i = 0; i < std::size(roles); ++i)
        if (const std::string text = config.token(roles[i]); !text.empty())
            if (const auto id = tokenizer.id(text)) *places[i] = id;
    if (!config.chat_template.empty()) tokenizer.chat_template = config.chat_template;
}

}  // namespace tessera::tokenizers
