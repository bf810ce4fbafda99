// The models of tokenizer.json by their names there.
#include "tessera/core/error.h"
#include "tessera/formats/byte_reader.h"
#include "tessera/tokenizers/algorithms/bpe.h"
#include "tessera/tokenizers/algorithms/unigram.h"
#include "tessera/tokenizers/algorithms/word_piece.h"
#include "tessera/tokenizers/json/component.h"
#include "tessera/tokenizers/limits.h"

namespace tessera::tokenizers {
namespace {

using formats::Json;

const Json& member(const Json& json, const char* name, const std::string& source) {
    const Json* found = json.find(name);
    check(found != nullptr, source, ": model.", name, ": is missing");
    return *found;
}

// The settings beside the long lists, which are not copied.
formats::Config settings_of(const Json& json, const std::string& source) {
    Json settings = Json::object();
    for (const char* name : {"type", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
                             "ignore_merges", "unk_token", "unk_id", "max_input_chars_per_word"})
        if (const Json* found = json.find(name)) settings.set(name, *found);
    return {std::move(settings), source, "model"};
}

Vocabulary read_vocabulary(const Json& json, const std::string& source) {
    const Json& tokens = member(json, "vocab", source);
    check(tokens.is_object(), source, ": model.vocab: expected an object of tokens and ids");
    std::size_t bytes = 0;
    for (const Json::Member& entry : tokens.members()) bytes += entry.key.size();
    Vocabulary vocabulary;
    vocabulary.reserve(tokens.members().size(), bytes);
    for (const Json::Member& entry : tokens.members()) {
        const bool fits = entry.value.is_integer() && entry.value.as_integer() >= 0 &&
                          entry.value.as_integer() < Vocabulary::most_ids;
        if (!fits)
            fail(source, ": model.vocab: ", formats::shown(entry.key), ": expected an id below ", Vocabulary::most_ids,
                 ", found ", entry.value);
        vocabulary.add(entry.key, entry.value.as_integer());
    }
    return vocabulary;
}

// "left right" or ["left", "right"].
std::pair<std::string_view, std::string_view> read_merge(const Json& entry, std::size_t index,
                                                         const std::string& source) {
    if (entry.is_array() && entry.items().size() == 2 && entry.items()[0].is_string() && entry.items()[1].is_string())
        return {entry.items()[0].as_string(), entry.items()[1].as_string()};
    if (entry.is_string()) {
        const std::string_view text = entry.as_string();
        const std::size_t space = text.find(' ');
        if (space != std::string_view::npos && text.find(' ', space + 1) == std::string_view::npos)
            return {text.substr(0, space), text.substr(space + 1)};
    }
    fail(source, ": model.merges: entry ", index, ": expected two tokens, found ", entry);
}

ReadModel read_bpe(const Json& json, const formats::Config& settings, const std::string& source, bool byte_level) {
    BpeOptions options{.continuing_prefix = settings.text("continuing_subword_prefix", ""),
                       .end_suffix = settings.text("end_of_word_suffix", ""),
                       .fuse_unknown = settings.boolean("fuse_unk", false),
                       .byte_fallback = settings.boolean("byte_fallback", false),
                       .ignore_merges = settings.boolean("ignore_merges", false)};
    for (const char* name : {"continuing_subword_prefix", "end_of_word_suffix"})
        check(settings.text(name, "").size() <= limits::longest_affix, source, ": model.", name, ": longer than ",
              limits::longest_affix, " bytes");
    if (settings.has("unk_token")) options.unknown = settings.text("unk_token");
    options.bytes =
        byte_level && options.continuing_prefix.empty() && options.end_suffix.empty() && !options.byte_fallback;
    const Json& list = member(json, "merges", source);
    check(list.is_array(), source, ": model.merges: expected a list");
    Merges merges;
    merges.reserve(list.items().size());
    for (const Json& entry : list.items()) merges.push_back(read_merge(entry, merges.size(), source));
    return {make_bpe(read_vocabulary(json, source), merges, options, source), options.bytes};
}

std::unique_ptr<Model> read_unigram(const Json& json, const formats::Config& settings, const std::string& source) {
    const Json& list = member(json, "vocab", source);
    check(list.is_array(), source, ": model.vocab: expected a list of tokens with their scores");
    check(static_cast<std::int64_t>(list.items().size()) <= Vocabulary::most_ids, source,
          ": model.vocab: ", list.items().size(), " tokens are more than ", Vocabulary::most_ids);
    Vocabulary vocabulary;
    vocabulary.reserve(list.items().size(), 0);
    std::vector<double> scores;
    for (const Json& entry : list.items()) {
        const bool fits = entry.is_array() && entry.items().size() == 2 && entry.items()[0].is_string() &&
                          entry.items()[1].is_number();
        check(fits, source, ": model.vocab: entry ", scores.size(), ": expected a token and its score, found ", entry);
        vocabulary.add(entry.items()[0].as_string(), static_cast<std::int64_t>(scores.size()));
        scores.push_back(entry.items()[1].as_number());
    }
    UnigramOptions options{.byte_fallback = settings.boolean("byte_fallback", false)};
    if (settings.has("unk_id")) options.unknown = settings.integer("unk_id");
    return make_unigram(std::move(vocabulary), std::move(scores), options, source);
}

// Files of before models had a type are told apart by what they hold.
std::string type_of(const Json& json, const formats::Config& settings) {
    if (settings.has("type")) return settings.text("type");
    if (json.find("merges")) return "BPE";
    const Json* vocabulary = json.find("vocab");
    if (vocabulary && vocabulary->is_array()) return "Unigram";
    return settings.has("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

}  // namespace

ReadModel read_model(const Json& json, const std::string& source, bool byte_level) {
    check(json.is_object(), source, ": model: expected an object");
    const formats::Config settings = settings_of(json, source);
    const std::string type = type_of(json, settings);
    if (type == "BPE") return read_bpe(json, settings, source, byte_level);
    if (type == "Unigram") return {read_unigram(json, settings, source)};
    if (type == "WordPiece") {
        const std::int64_t longest = settings.positive("max_input_chars_per_word", 100);
        const WordPieceOptions options{.unknown = settings.text("unk_token", "[UNK]"),
                                       .continuing_prefix = settings.text("continuing_subword_prefix", "##"),
                                       .longest_word = longest};
        return {make_word_piece(read_vocabulary(json, source), options, source)};
    }
    if (type == "WordLevel")
        return {make_word_level(read_vocabulary(json, source), settings.text("unk_token", "<unk>"), source)};
    fail(source, ": model.type: no model is known as ", formats::shown(type));
}

}  // namespace tessera::tokenizers
