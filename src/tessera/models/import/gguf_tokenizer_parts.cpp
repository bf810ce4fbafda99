#include "tessera/models/import/gguf_tokenizer_parts.h"

#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/formats/byte_reader.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/sentencepiece/byte_pieces.h"
#include "tessera/tokenizers/stages/splitter.h"
#include "tessera/tokenizers/structures/vocabulary.h"

namespace tessera::models {
namespace {

using namespace tokenizers;
using formats::GgufTokenizer;

const std::vector<GgufCut>& cuts() {
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
    static const std::vector<GgufCut> all = {
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

}  // namespace

const GgufCut& gguf_cut(const std::string& name, const std::string& source) {
    for (const GgufCut& cut : cuts())
        if (std::find(cut.names.begin(), cut.names.end(), name) != cut.names.end()) return cut;
    fail(source, ": tokenizer.ggml.pre: no way to cut text is known as ", formats::shown(name));
}

GgufType gguf_type(const GgufTokenizer& read, std::size_t id) {
    return read.types.empty() ? GgufType::Normal : static_cast<GgufType>(read.types[id]);
}

std::vector<AddedToken> gguf_added_tokens(const GgufTokenizer& read) {
    std::vector<AddedToken> added;
    for (std::size_t id = 0; id < read.tokens.size(); ++id) {
        const GgufType type = gguf_type(read, id);
        if (type != GgufType::Control && type != GgufType::UserDefined && type != GgufType::Unknown) continue;
        added.push_back({.content = read.tokens[id],
                         .id = static_cast<std::int64_t>(id),
                         .special = type != GgufType::UserDefined});
    }
    return added;
}

GgufTokenizer checked_gguf_tokenizer(const formats::Gguf& gguf) {
    GgufTokenizer read = formats::read_gguf_tokenizer(gguf);
    check(static_cast<std::int64_t>(read.tokens.size()) <= Vocabulary::most_ids, gguf.source,
          ": tokenizer.ggml.tokens: more than ", Vocabulary::most_ids);
    for (std::size_t id = 0; id < read.tokens.size(); ++id)
        check(text::is_valid_utf8(read.tokens[id]), gguf.source, ": tokenizer.ggml.tokens: entry ", id,
              ": is no UTF-8");
    return read;
}

SentencePieceFile gguf_pieces(const formats::Gguf& gguf, const GgufTokenizer& read) {
    check(!read.scores.empty(), gguf.source, ": tokenizer.ggml.scores: is missing");
    SentencePieceFile file{
        .algorithm = read.model == "t5" ? SentencePieceFile::Algorithm::Unigram : SentencePieceFile::Algorithm::Bpe,
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
        const GgufType type = gguf_type(read, id);
        check(type >= GgufType::Normal && type <= GgufType::Byte, gguf.source, ": tokenizer.ggml.token_type: entry ",
              id, ": ", static_cast<std::int64_t>(type));
        check(type != GgufType::Byte || byte_of_piece(read.tokens[id]), gguf.source, ": tokenizer.ggml.tokens: entry ",
              id, ": ", formats::shown(read.tokens[id]), " is no byte");
        bytes += type == GgufType::Byte;
        file.pieces.push_back(
            {read.tokens[id], static_cast<float>(read.scores[id]), static_cast<SentencePieceFile::Kind>(type)});
    }
    file.byte_fallback = bytes == 256;
    return file;
}

}  // namespace tessera::models
