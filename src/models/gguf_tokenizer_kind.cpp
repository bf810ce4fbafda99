// The tokenizer inside a GGUF file, by the file's name for its kind, and how a byte-level one cuts text, by the file's
// name for that (github.com/ggml-org/llama.cpp, which writes them).
#include <algorithm>

#include "core/error.h"
#include "formats/byte_reader.h"
#include "formats/gguf_tokenizer.h"
#include "tokenizers/bpe.h"
#include "tokenizers/byte_pieces.h"
#include "tokenizers/pipeline.h"
#include "tokenizers/sentencepiece.h"
#include "tokenizers/tokenizer_file.h"
#include "tokenizers/unicode.h"
#include "tokenizers/utf8.h"
#include "tokenizers/word_piece.h"

namespace tessera::models {
namespace {

using namespace tokenizers;
using formats::GgufTokenizer;
using Item = SpecialTemplate::Item;

constexpr std::int64_t normal = 1, unknown = 2, control = 3, user_defined = 4, byte = 6;  // types of tokens

struct Cut {
    std::vector<const char*> names;
    std::vector<const char*> patterns;  // one after the other
    bool whole_words = false;           // a word that is a token is that token
    bool composed = false;              // normal form C first, as the reference does
    bool begins = false;                // texts have a beginning unless the file says otherwise
};

const std::vector<Cut>& cuts() {
    constexpr const char* llama3 =
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    constexpr const char* qwen2 =
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    constexpr const char* tekken = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
                                   R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
                                   R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    constexpr const char* gpt4o =
        R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
        R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
        R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
    constexpr const char* deepseek3 =
        "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
        "?[\\p{P}\\p{S}]+[\\r\\n]*"
        "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    static const std::vector<Cut> all = {
        {{"gpt-2", "phi-2", "mpt", "olmo", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "jina-v1-en",
          "jina-v2-code", "jais", "trillion", "roberta-bpe", "gigachat", "exaone4"},
         {byte_level_pattern}},
        {{"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "falcon-h1"}, {llama3}, true, false, true},
        {{"dbrx", "smaug-bpe"}, {llama3}},
        {{"qwen2", "deepseek-r1-qwen", "megrez"}, {qwen2}, false, true},
        {{"stablelm2", "hunyuan"}, {qwen2}},
        {{"tekken"}, {tekken}, true, false, true},
        {{"gpt-4o", "llama4"}, {gpt4o}},
        {{"deepseek-v3"}, {R"(\p{N}{1,3})", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", deepseek3}},
        {{"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b"},
         {R"(\p{N})", byte_level_pattern}},
        {{"falcon"}, {R"([\p{P}\$\+<=>\^~\|`]+)", byte_level_pattern, "[0-9][0-9][0-9]"}},
        {{"", "default"}, {R"([\p{P}\$\+<=>\^~\|]+)", byte_level_pattern, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
    };
    return all;
}

const Cut& cut_named(const std::string& name, const std::string& source) {
    for (const Cut& cut : cuts())
        if (std::find(cut.names.begin(), cut.names.end(), name) != cut.names.end()) return cut;
    fail(source, ": tokenizer.ggml.pre: no way to cut text is known as ", formats::shown(name));
}

std::int64_t type_of(const GgufTokenizer& read, std::size_t id) { return read.types.empty() ? normal : read.types[id]; }

// Control tokens are special; those of the user are found in a text as well.
std::vector<AddedToken> added_tokens(const GgufTokenizer& read) {
    std::vector<AddedToken> added;
    for (std::size_t id = 0; id < read.tokens.size(); ++id) {
        const std::int64_t type = type_of(read, id);
        if (type != control && type != user_defined && type != unknown) continue;
        added.push_back(
            {.content = read.tokens[id], .id = static_cast<std::int64_t>(id), .special = type != user_defined});
    }
    return added;
}

SpecialTemplate bounds(const GgufTokenizer& read, bool begins, bool ends) {
    std::vector<Item> single = {{Item::First}}, second = {{Item::Second}};
    for (std::vector<Item>* items : {&single, &second}) {
        if (read.bos && read.add_bos.value_or(begins)) items->insert(items->begin(), {Item::Special, {*read.bos}});
        if (read.eos && read.add_eos.value_or(ends)) items->push_back({Item::Special, {*read.eos}});
    }
    SpecialTemplate around{.single = single, .pair = single};
    around.pair.insert(around.pair.end(), second.begin(), second.end());
    return around;
}

Vocabulary vocabulary_of(const std::vector<std::string>& tokens) {
    Vocabulary vocabulary;
    vocabulary.reserve(tokens.size(), 0);
    for (std::size_t id = 0; id < tokens.size(); ++id) vocabulary.add(tokens[id], static_cast<std::int64_t>(id));
    return vocabulary;
}

std::shared_ptr<Tokenizer> byte_level(const GgufTokenizer& read, const std::string& source) {
    const Cut& cut = cut_named(read.pre, source);
    Merges merges;
    for (const std::string_view merge : read.merges) {
        const std::size_t space = merge.find(' ', 1);
        check(space != std::string_view::npos, source, ": tokenizer.ggml.merges: entry ", merges.size(),
              ": expected two tokens, found ", formats::shown(merge));
        merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
    }
    PipelineParts parts{.model = make_bpe(vocabulary_of(read.tokens), merges,
                                          {.ignore_merges = cut.whole_words, .bytes = true}, source)};
    std::vector<std::unique_ptr<PreTokenizer>> words;
    for (const char* pattern : cut.patterns)
        words.push_back(split_pre_tokenizer(pattern_splitter(pattern, source), SplitBehaviour::Isolated));
    parts.pre_tokenizer = sequence_pre_tokenizer(std::move(words));
    if (cut.composed) parts.normalizer = form_normalizer(NormalForm::C);
    parts.decoder = byte_level_decoder();
    parts.added = added_tokens(read);
    parts.around = bounds(read, cut.begins, false);
    return make_pipeline(std::move(parts));
}

std::shared_ptr<Tokenizer> pieces(const formats::Gguf& gguf, const GgufTokenizer& read, bool unigram) {
    check(!read.scores.empty(), gguf.source, ": tokenizer.ggml.scores: is missing");
    SentencePieceFile file{
        .algorithm = unigram ? SentencePieceFile::Algorithm::Unigram : SentencePieceFile::Algorithm::Bpe,
        .unknown = read.unknown.value_or(0),
        .bos = read.bos.value_or(-1),
        .eos = read.eos.value_or(-1),
        .padding = read.padding.value_or(-1)};
    file.add_dummy_prefix = read.add_space_prefix.value_or(true);
    file.remove_extra_spaces = gguf.boolean("tokenizer.ggml.remove_extra_whitespaces", false);
    if (gguf.has("tokenizer.ggml.precompiled_charsmap"))
        for (const std::int64_t value : gguf.integers("tokenizer.ggml.precompiled_charsmap"))
            file.character_map += static_cast<char>(value);
    std::size_t bytes = 0;
    for (std::size_t id = 0; id < read.tokens.size(); ++id) {
        const std::int64_t type = type_of(read, id);
        check(type >= normal && type <= byte, gguf.source, ": tokenizer.ggml.token_type: entry ", id, ": ", type);
        check(type != byte || byte_of_piece(read.tokens[id]), gguf.source, ": tokenizer.ggml.tokens: entry ", id, ": ",
              formats::shown(read.tokens[id]), " is no byte");
        bytes += type == byte;
        file.pieces.push_back(
            {read.tokens[id], static_cast<float>(read.scores[id]), static_cast<SentencePieceFile::Kind>(type)});
    }
    file.byte_fallback = bytes == 256;
    return make_sentencepiece(std::move(file),
                              {.add_bos = read.add_bos.value_or(!unigram),
                               .add_eos = read.add_eos.value_or(unigram),
                               .added = added_tokens(read)},
                              gguf.source);
}

// Words are written with the space symbol before them, and what continues a word without a mark.
std::shared_ptr<Tokenizer> word_pieces(const GgufTokenizer& read, const std::string& source) {
    constexpr std::string_view space = "\xE2\x96\x81";
    std::vector<std::string> tokens;
    for (std::size_t id = 0; id < read.tokens.size(); ++id) {
        const std::string& token = read.tokens[id];
        const bool plain = type_of(read, id) == normal;
        tokens.push_back(token.starts_with(space) ? token.substr(space.size()) : plain ? "##" + token : token);
    }
    const auto named = [&](const char* key, const char* fallback) {
        const auto found = std::find(tokens.begin(), tokens.end(), fallback);
        check(found != tokens.end(), source, ": ", key, ": no token is ", fallback);
        return static_cast<std::int64_t>(found - tokens.begin());
    };
    const std::int64_t begin = read.bos ? *read.bos : named("tokenizer.ggml.bos_token_id", "[CLS]");
    const std::int64_t end = named("tokenizer.ggml.seperator_token_id", "[SEP]");
    PipelineParts parts{.normalizer = clean_text_normalizer({})};
    std::vector<std::unique_ptr<PreTokenizer>> words;
    words.push_back(
        split_pre_tokenizer(character_splitter([](char32_t c) { return is_space(c); }), SplitBehaviour::Removed));
    words.push_back(split_pre_tokenizer(character_splitter(is_punctuation), SplitBehaviour::Isolated));
    parts.pre_tokenizer = sequence_pre_tokenizer(std::move(words));
    parts.model = make_word_piece(vocabulary_of(tokens), {}, source);
    parts.decoder = word_piece_decoder("##", true);
    parts.added = added_tokens(read);
    const Item first{Item::Special, {begin}}, last{Item::Special, {end}};
    parts.around = {.single = {first, {Item::First}, last}, .pair = {first, {Item::First}, last, {Item::Second}, last}};
    return make_pipeline(std::move(parts));
}

std::shared_ptr<Tokenizer> make(const formats::Gguf& gguf, const GgufTokenizer& read) {
    if (read.model == "gpt2") return byte_level(read, gguf.source);
    if (read.model == "llama") return pieces(gguf, read, false);
    if (read.model == "t5") return pieces(gguf, read, true);
    if (read.model == "bert") return word_pieces(read, gguf.source);
    fail(gguf.source, ": tokenizer.ggml.model: no tokenizer is known as ", formats::shown(read.model));
}

std::shared_ptr<Tokenizer> open(const std::filesystem::path& path) {
    const formats::Gguf gguf = formats::read_gguf(path);
    const GgufTokenizer read = formats::read_gguf_tokenizer(gguf);
    check(static_cast<std::int64_t>(read.tokens.size()) <= Vocabulary::most_ids, gguf.source,
          ": tokenizer.ggml.tokens: more than ", Vocabulary::most_ids);
    for (std::size_t id = 0; id < read.tokens.size(); ++id)
        check(is_valid_utf8(read.tokens[id]), gguf.source, ": tokenizer.ggml.tokens: entry ", id, ": is no UTF-8");
    std::shared_ptr<Tokenizer> tokenizer = make(gguf, read);
    tokenizer->special.bos = read.bos;
    tokenizer->special.eos = read.eos;
    tokenizer->special.unknown = read.unknown;
    tokenizer->special.padding = read.padding;
    tokenizer->chat_template = read.chat_template;
    return tokenizer;
}

const RegisterTokenizerFile registered({
    .in_folder = nullptr,
    .rank = 9,
    .fits = [](const std::filesystem::path& file) { return file.extension() == ".gguf"; },
    .open = open,
});

}  // namespace
}  // namespace tessera::models
