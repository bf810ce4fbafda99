// The tokenizer inside a GGUF file, by the file's name for its kind.
#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/formats/byte_reader.h"
#include "tessera/formats/gguf_tokenizer.h"
#include "tessera/models/import/gguf_tokenizer_parts.h"
#include "tessera/models/import/gguf_tokenizer_writer.h"
#include "tessera/text/unicode.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/algorithms/bpe.h"
#include "tessera/tokenizers/algorithms/word_piece.h"
#include "tessera/tokenizers/pipeline.h"
#include "tessera/tokenizers/sentencepiece/byte_pieces.h"
#include "tessera/tokenizers/sentencepiece/sentencepiece.h"
#include "tessera/tokenizers/tokenizer_file.h"

namespace tessera::models {
namespace {

using namespace tokenizers;
using formats::GgufTokenizer;
using Item = SpecialTemplate::Item;

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
    const GgufCut& cut = gguf_cut(read.pre, source);
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
    if (cut.composed) parts.normalizer = form_normalizer(text::NormalForm::C);
    parts.decoder = byte_level_decoder();
    parts.added = gguf_added_tokens(read);
    parts.around = bounds(read, cut.begins, false);
    return make_pipeline(std::move(parts));
}

std::shared_ptr<Tokenizer> pieces(const formats::Gguf& gguf, const GgufTokenizer& read, bool unigram) {
    return make_sentencepiece(gguf_pieces(gguf, read),
                              {.add_bos = read.add_bos.value_or(!unigram),
                               .add_eos = read.add_eos.value_or(unigram),
                               .added = gguf_added_tokens(read)},
                              gguf.source);
}

// Words are written with the space symbol before them, and what continues a word without a mark.
std::shared_ptr<Tokenizer> word_pieces(const GgufTokenizer& read, const std::string& source) {
    constexpr std::string_view space = "\xE2\x96\x81";
    std::vector<std::string> tokens;
    for (std::size_t id = 0; id < read.tokens.size(); ++id) {
        const std::string& token = read.tokens[id];
        const bool plain = gguf_type(read, id) == GgufType::Normal;
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
        split_pre_tokenizer(character_splitter([](char32_t c) { return text::is_space(c); }), SplitBehaviour::Removed));
    words.push_back(split_pre_tokenizer(character_splitter(text::is_punctuation), SplitBehaviour::Isolated));
    parts.pre_tokenizer = sequence_pre_tokenizer(std::move(words));
    parts.model = make_word_piece(vocabulary_of(tokens), {}, source);
    parts.decoder = word_piece_decoder("##", true);
    parts.added = gguf_added_tokens(read);
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
    const GgufTokenizer read = checked_gguf_tokenizer(gguf);
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
    .write = write_gguf_tokenizer,
});

}  // namespace
}  // namespace tessera::models
