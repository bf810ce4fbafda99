// tokenizer.model: SentencePiece's file, with what a folder of the Hub says beside it.
#include <unordered_map>

#include "tessera/core/error.h"
#include "tessera/core/mapped_file.h"
#include "tessera/formats/find_file.h"
#include "tessera/tokenizers/sentencepiece/sentencepiece.h"
#include "tessera/tokenizers/structures/hash.h"
#include "tessera/tokenizers/tiktoken_file.h"
#include "tessera/tokenizers/tokenizer_config.h"
#include "tessera/tokenizers/tokenizer_file.h"

namespace tessera::tokenizers {
namespace {

// Tokens that the folder names are found in a text; a bare file knows pieces only. Ids past the pieces are theirs.
std::vector<AddedToken> added_tokens(const TokenizerConfig& config, const SentencePieceFile& file) {
    std::vector<AddedToken> known, named = config.added_tokens();
    std::unordered_map<std::string_view, std::size_t, SeededHash> places;  // the first of equal pieces
    for (std::size_t id = 0; !named.empty() && id < file.pieces.size(); ++id)
        places.try_emplace(file.pieces[id].text, id);
    for (AddedToken& token : named) {
        if (token.id < 0) {
            const auto piece = places.find(token.content);
            if (piece == places.end()) continue;
            token.id = static_cast<std::int64_t>(piece->second);
        }
        known.push_back(std::move(token));
    }
    return known;
}

std::shared_ptr<Tokenizer> open(const std::filesystem::path& path) {
    const MappedFile mapped(path);
    SentencePieceFile file =
        parse_sentencepiece({reinterpret_cast<const char*>(mapped.data()), mapped.bytes()}, path.string());
    const TokenizerConfig config = read_tokenizer_config(formats::folder_of(path));
    // A model that knows no beginning closes a text with its end.
    SentencePieceOptions options{.add_bos = config.settings.boolean("add_bos_token", file.bos >= 0),
                                 .add_eos = config.settings.boolean("add_eos_token", file.bos < 0),
                                 .prefix_every_part = config.settings.boolean("legacy", true),
                                 .added = added_tokens(config, file)};
    return make_sentencepiece(std::move(file), std::move(options), path.string());
}

bool fits(const std::filesystem::path& file) { return file.extension() == ".model" && !is_tiktoken_file(file); }

const RegisterTokenizerFile registered[] = {
    RegisterTokenizerFile({.in_folder = "tokenizer.model", .rank = 1, .fits = fits, .open = open}),
    RegisterTokenizerFile({.in_folder = "spiece.model", .rank = 2, .fits = fits, .open = open}),
    RegisterTokenizerFile({.in_folder = "sentencepiece.bpe.model", .rank = 3, .fits = fits, .open = open}),
};

}  // namespace
}  // namespace tessera::tokenizers
