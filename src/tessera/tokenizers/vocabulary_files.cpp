// Vocabularies in files of their own, as before tokenizer.json: vocab.json with merges.txt (byte-level BPE) and
// vocab.txt (WordPiece). What else there is to know stands in tokenizer_config.json, or is the reference's default.
#include <algorithm>
#include <fstream>
#include <iterator>

#include "tessera/core/error.h"
#include "tessera/formats/byte_reader.h"
#include "tessera/formats/find_file.h"
#include "tessera/text/unicode.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/algorithms/bpe.h"
#include "tessera/tokenizers/algorithms/word_piece.h"
#include "tessera/tokenizers/pipeline.h"
#include "tessera/tokenizers/tokenizer_config.h"
#include "tessera/tokenizers/tokenizer_file.h"

namespace tessera::tokenizers {
namespace {

namespace fs = std::filesystem;
using Item = SpecialTemplate::Item;

constexpr std::size_t longest_file = std::size_t{256} << 20;

std::string read_text(const fs::path& path) {
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    check(!error, path.string(), ": ", error.message());
    check(bytes <= longest_file, path.string(), ": ", bytes, " bytes are more than the limit of ", longest_file);
    std::ifstream file(path, std::ios::binary);
    std::string text(bytes, '\0');
    file.read(text.data(), static_cast<std::streamsize>(bytes));
    text.resize(static_cast<std::size_t>(file.gcount()));
    check(text::is_valid_utf8(text), path.string(), ": is no UTF-8");
    return text;
}

// Calls `use` with each line, without its end, and its number from 1.
template <class Use>
void for_each_line(std::string_view text, Use use) {
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        use(line, number);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

// The tokens that the folder names, and those of `defaults` that the vocabulary has.
std::vector<AddedToken> added_tokens(const TokenizerConfig& config, const Vocabulary& vocabulary,
                                     std::initializer_list<const char*> defaults) {
    std::vector<AddedToken> known;
    for (AddedToken& token : config.added_tokens()) {
        if (token.id < 0) token.id = vocabulary.find(token.content);
        if (token.id >= 0) known.push_back(std::move(token));
    }
    for (const char* token : defaults) {
        const std::int32_t id = vocabulary.find(token);
        const bool named = std::any_of(known.begin(), known.end(), [&](const AddedToken& k) { return k.id == id; });
        if (id >= 0 && !named) known.push_back({.content = token, .id = id, .special = true});
    }
    return known;
}

std::optional<Item> special_item(const std::string& token, const std::vector<AddedToken>& added) {
    for (const AddedToken& known : added)
        if (known.content == token) return Item{Item::Special, {known.id}};
    return {};
}

// [CLS] A [SEP] B [SEP], the middle one twice in some vocabularies.
SpecialTemplate separated(const std::optional<Item>& begin, const std::optional<Item>& end, bool twice) {
    SpecialTemplate around;
    if (!begin || !end) return around;
    around.single = {*begin, {Item::First}, *end};
    around.pair = around.single;
    if (twice) around.pair.push_back(*end);
    around.pair.push_back({Item::Second});
    around.pair.push_back(*end);
    return around;
}

// A beginning and an end around each text, as the folder asks for.
SpecialTemplate bounded(const TokenizerConfig& config, const std::vector<AddedToken>& added) {
    std::vector<Item> single = {{Item::First}}, second = {{Item::Second}};
    const auto begin = special_item(config.token("bos_token"), added),
               end = special_item(config.token("eos_token"), added);
    for (std::vector<Item>* items : {&single, &second}) {
        if (begin && config.settings.boolean("add_bos_token", false)) items->insert(items->begin(), *begin);
        if (end && config.settings.boolean("add_eos_token", false)) items->push_back(*end);
    }
    SpecialTemplate around{.single = single, .pair = single};
    around.pair.insert(around.pair.end(), second.begin(), second.end());
    return around;
}

Vocabulary read_vocabulary_json(const fs::path& path) {
    const formats::Json json = formats::Json::read(path);
    check(json.is_object(), path.string(), ": expected an object of tokens and ids");
    Vocabulary vocabulary;
    vocabulary.reserve(json.members().size(), 0);
    for (const auto& [token, id] : json.members()) {
        check(id.is_integer() && id.as_integer() >= 0 && id.as_integer() < Vocabulary::most_ids, path.string(), ": ",
              formats::shown(token), ": expected an id below ", Vocabulary::most_ids, ", found ", id);
        vocabulary.add(token, id.as_integer());
    }
    return vocabulary;
}

Merges read_merges(std::string_view text, const std::string& source) {
    Merges merges;
    for_each_line(text, [&](std::string_view line, std::size_t number) {
        if (line.empty() || line.starts_with("#version")) return;
        const std::size_t space = line.find(' ');
        check(space != std::string_view::npos && line.find(' ', space + 1) == std::string_view::npos, source, ": line ",
              number, ": expected two tokens, found ", formats::shown(line));
        merges.emplace_back(line.substr(0, space), line.substr(space + 1));
    });
    return merges;
}

std::shared_ptr<Tokenizer> open_merges(const fs::path& path) {
    // The one that was named may be any file; the other is found beside it.
    const fs::path folder = formats::folder_of(path);
    const auto place = [&](const char* name) {
        const fs::path file = path.filename() == name ? path : formats::find_file(folder, name);
        check(!file.empty(), (folder / name).string(), ": is missing; vocab.json and merges.txt go together");
        return file;
    };
    const fs::path vocabulary = place("vocab.json"), merges = place("merges.txt");
    const TokenizerConfig config = read_tokenizer_config(folder);
    const std::string text = read_text(merges);
    PipelineParts parts{.model = make_bpe(read_vocabulary_json(vocabulary), read_merges(text, merges.string()),
                                          {.bytes = true}, folder.string())};
    parts.pre_tokenizer =
        byte_level_pre_tokenizer({.add_prefix_space = config.settings.boolean("add_prefix_space", false), .raw = true});
    parts.decoder = byte_level_decoder();
    parts.added = added_tokens(config, parts.model->vocabulary(), {"<|endoftext|>"});
    const auto begin = special_item(config.token("cls_token"), parts.added),
               end = special_item(config.token("sep_token"), parts.added);
    parts.around = begin && end ? separated(begin, end, true) : bounded(config, parts.added);
    return make_pipeline(std::move(parts));
}

std::shared_ptr<Tokenizer> open_word_list(const fs::path& path) {
    const TokenizerConfig config = read_tokenizer_config(formats::folder_of(path));
    const std::string text = read_text(path);
    Vocabulary vocabulary;
    for_each_line(text, [&](std::string_view line, std::size_t number) {
        while (!line.empty() &&
               text::is_space(text::character_at(line.data() + text::character_before(line, line.size()))))
            line = line.substr(0, text::character_before(line, line.size()));
        check(static_cast<std::int64_t>(number) <= Vocabulary::most_ids, path.string(), ": more than ",
              Vocabulary::most_ids, " lines");
        vocabulary.add(line, static_cast<std::int64_t>(number) - 1);
    });
    const auto role = [&](const char* name, const char* fallback) {
        const std::string named = config.token(name);
        return named.empty() ? fallback : named;
    };
    PipelineParts parts;
    const bool lower_case = config.settings.boolean("do_lower_case", true);
    parts.normalizer =
        clean_text_normalizer({.separate_ideographs = config.settings.boolean("tokenize_chinese_chars", true),
                               .strip_accents = config.settings.boolean("strip_accents", lower_case),
                               .lower_case = lower_case});
    std::vector<std::unique_ptr<PreTokenizer>> words;
    words.push_back(
        split_pre_tokenizer(character_splitter([](char32_t c) { return text::is_space(c); }), SplitBehaviour::Removed));
    words.push_back(split_pre_tokenizer(character_splitter(text::is_punctuation), SplitBehaviour::Isolated));
    parts.pre_tokenizer = sequence_pre_tokenizer(std::move(words));
    parts.added = added_tokens(config, vocabulary, {"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"});
    parts.model = make_word_piece(std::move(vocabulary), {.unknown = role("unk_token", "[UNK]")}, path.string());
    parts.decoder = word_piece_decoder("##", true);
    parts.around = separated(special_item(role("cls_token", "[CLS]"), parts.added),
                             special_item(role("sep_token", "[SEP]"), parts.added), false);
    return make_pipeline(std::move(parts));
}

const RegisterTokenizerFile registered[] = {
    RegisterTokenizerFile(
        {.in_folder = "vocab.json",
         .rank = 6,
         .fits = [](const fs::path& f) { return f.filename() == "vocab.json" || f.filename() == "merges.txt"; },
         .open = open_merges}),
    RegisterTokenizerFile({.in_folder = "vocab.txt",
                           .rank = 7,
                           .fits = [](const fs::path& f) { return f.extension() == ".txt"; },
                           .open = open_word_list}),
};

}  // namespace
}  // namespace tessera::tokenizers
