#include "tessera/tokenizers/tiktoken_file.h"

#include <charconv>
#include <deque>
#include <fstream>

#include "tessera/core/error.h"
#include "tessera/core/mapped_file.h"
#include "tessera/formats/find_file.h"
#include "tessera/text/base64.h"
#include "tessera/tokenizers/algorithms/bpe.h"
#include "tessera/tokenizers/limits.h"
#include "tessera/tokenizers/pipeline.h"
#include "tessera/tokenizers/stages/byte_level.h"
#include "tessera/tokenizers/structures/trie.h"
#include "tessera/tokenizers/tokenizer_file.h"

namespace tessera::tokenizers {
namespace {

constexpr const char* three_digits_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* one_digit_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* by_case_pattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct NamedId {
    const char* token;
    std::int64_t id;
};

// A file says neither its pattern nor its special tokens; the published ones are known by how many ranks they have.
struct Published {
    std::int64_t ranks;
    const char* pattern;
    std::vector<NamedId> special;
    bool composed = false;  // text is brought into normal form C first
};

const std::vector<Published>& published() {
    static const std::vector<Published> all = {
        {50256, byte_level_pattern, {{"<|endoftext|>", 50256}}},
        {50280, byte_level_pattern, {{"<|endoftext|>", 50256}}},
        {100256,
         three_digits_pattern,
         {{"<|endoftext|>", 100257},
          {"<|fim_prefix|>", 100258},
          {"<|fim_middle|>", 100259},
          {"<|fim_suffix|>", 100260},
          {"<|endofprompt|>", 100276}}},
        {128000,
         three_digits_pattern,
         {{"<|begin_of_text|>", 128000},
          {"<|end_of_text|>", 128001},
          {"<|start_header_id|>", 128006},
          {"<|end_header_id|>", 128007},
          {"<|eot_id|>", 128009}}},
        {151643,
         one_digit_pattern,
         {{"<|endoftext|>", 151643}, {"<|im_start|>", 151644}, {"<|im_end|>", 151645}},
         true},
        {199998, by_case_pattern, {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}},
    };
    return all;
}

struct Ranks {
    Vocabulary vocabulary = {};
    std::deque<std::string> texts = {};  // as byte_level.h writes them
};

Ranks read_ranks(std::string_view text, const std::string& source) {
    Ranks ranks;
    for (std::size_t line = 1; !text.empty(); ++line) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view entry = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (entry.ends_with('\r')) entry.remove_suffix(1);
        if (entry.empty()) continue;
        const std::size_t space = std::min(entry.find(' '), entry.size());
        const std::optional<std::string> bytes = text::from_base64(entry.substr(0, space));
        std::int64_t rank = -1;
        const char* last = entry.data() + entry.size();
        const bool number = space < entry.size() && std::from_chars(entry.data() + space + 1, last, rank).ptr == last;
        check(bytes && !bytes->empty() && number && rank >= 0 && rank < Vocabulary::most_ids, source, ": line ", line,
              ": expected a token in base64 and its rank");
        ranks.texts.push_back(to_byte_characters(*bytes));
        check(ranks.vocabulary.find(ranks.texts.back()) < 0, source, ": line ", line, ": a token given twice");
        ranks.vocabulary.add(ranks.texts.back(), rank);
    }
    check(!ranks.texts.empty(), source, ": holds no tokens");
    return ranks;
}

// Every way to put a token together from two others: where one ends that it begins with, and one begins that it ends
// with.
Merges merges_of(const Ranks& ranks, const std::string& source) {
    Trie beginnings, ends;
    std::string reversed;
    for (const std::string_view token : ranks.texts) {
        beginnings.add(token, 0);
        ends.add(reversed.assign(token.rbegin(), token.rend()), 0);
    }
    Merges merges;
    std::vector<bool> begins;
    for (const std::string_view token : ranks.texts) {
        begins.assign(token.size(), false);
        reversed.assign(token.rbegin(), token.rend());
        ends.for_each_prefix(reversed,
                             [&](std::size_t length, std::uint32_t) { begins[token.size() - length] = true; });
        beginnings.for_each_prefix(token, [&](std::size_t at, std::uint32_t) {
            if (at < token.size() && begins[at]) merges.emplace_back(token.substr(0, at), token.substr(at));
        });
        check(merges.size() <= limits::most_rank_merges, source, ": its tokens can be put together in more than ",
              limits::most_rank_merges, " ways");
    }
    return merges;
}

std::shared_ptr<Tokenizer> open(const std::filesystem::path& path) {
    const MappedFile mapped(path);
    return parse_tiktoken_file({reinterpret_cast<const char*>(mapped.data()), mapped.bytes()},
                               read_tokenizer_config(formats::folder_of(path)), path.string());
}

const RegisterTokenizerFile registered[] = {
    RegisterTokenizerFile({.in_folder = "tokenizer.model", .rank = 4, .fits = is_tiktoken_file, .open = open}),
    RegisterTokenizerFile({.in_folder = "tokenizer.tiktoken", .rank = 5, .fits = is_tiktoken_file, .open = open}),
};

}  // namespace

bool is_tiktoken_file(const std::filesystem::path& path) {
    if (path.extension() == ".tiktoken") return true;
    if (path.extension() != ".model") return false;
    std::ifstream file(path, std::ios::binary);
    char bytes[256] = {};
    file.read(bytes, sizeof bytes - 1);
    const std::string_view head(bytes, static_cast<std::size_t>(file.gcount()));
    const std::string_view line = head.substr(0, head.find('\n'));
    const std::size_t space = line.find(' ');
    return space != std::string_view::npos && space > 0 && text::from_base64(line.substr(0, space)).has_value() &&
           line.find_first_not_of("0123456789\r", space + 1) == std::string_view::npos;
}

std::shared_ptr<Tokenizer> parse_tiktoken_file(std::string_view text, const TokenizerConfig& config,
                                               const std::string& source) {
    Ranks ranks = read_ranks(text, source);
    const Merges merges = merges_of(ranks, source);
    const std::int64_t count = ranks.vocabulary.count();
    const char* pattern = three_digits_pattern;
    PipelineParts parts;
    for (const AddedToken& token : config.added_tokens())
        if (token.id >= 0) parts.added.push_back(token);
    for (const Published& known : published()) {
        if (known.ranks != count) continue;
        pattern = known.pattern;
        if (known.composed) parts.normalizer = form_normalizer(text::NormalForm::C);
        if (parts.added.empty())
            for (const auto& [token, id] : known.special)
                parts.added.push_back({.content = token, .id = id, .special = true});
    }
    parts.pre_tokenizer = split_pre_tokenizer(pattern_splitter(pattern, source), SplitBehaviour::Isolated);
    parts.model = make_bpe(std::move(ranks.vocabulary), merges,
                           {.ignore_merges = true, .ranked_by_id = true, .bytes = true}, source);
    parts.decoder = byte_level_decoder();
    return make_pipeline(std::move(parts));
}

}  // namespace tessera::tokenizers
