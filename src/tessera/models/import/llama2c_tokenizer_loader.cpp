// llama2.c's tokenizer.bin as a tokenizer: SentencePiece's BPE by scores with a space before the text, spaces as they
// are, and bytes for what is in no piece. Ids 0, 1 and 2 are unknown, beginning and end; then come the 256 bytes.
#include "tessera/core/error.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/find_file.h"
#include "tessera/formats/json.h"
#include "tessera/models/import/llama2c_tokenizer.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/sentencepiece/byte_pieces.h"
#include "tessera/tokenizers/sentencepiece/sentencepiece.h"
#include "tessera/tokenizers/structures/vocabulary.h"
#include "tessera/tokenizers/tokenizer_file.h"

namespace tessera::models {
namespace {

using tokenizers::SentencePieceFile;
using Kind = SentencePieceFile::Kind;

constexpr std::size_t first_byte = 3, reserved = first_byte + 256;

// The weights of a model are a .bin file too: the tokenizer is the one that lies beside them.
std::filesystem::path tokenizer_of(const std::filesystem::path& file) {
    if (is_llama2c_tokenizer(file)) return file;
    std::filesystem::path found = llama2c_tokenizer_beside(file);
    if (found.empty())
        throw tokenizers::NoTokenizer(text_of(file.string(), ": no tokenizer (tok*.bin) lies beside it"));
    return found;
}

SentencePieceFile read_pieces(const std::filesystem::path& path) {
    const Llama2cTokenizer read = open_llama2c_tokenizer(path);
    const std::string source = path.string();
    check(read.tokens.size() >= reserved, source, ": ", read.tokens.size(), " tokens are fewer than the ", reserved,
          " that every vocabulary begins with");
    check(static_cast<std::int64_t>(read.tokens.size()) <= tokenizers::Vocabulary::most_ids, source, ": more than ",
          tokenizers::Vocabulary::most_ids, " tokens");
    SentencePieceFile file{.algorithm = SentencePieceFile::Algorithm::Bpe,
                           .unknown = 0,
                           .bos = 1,
                           .eos = 2,
                           .byte_fallback = true,
                           .space = " ",
                           .remove_extra_spaces = false};
    for (std::size_t id = 0; id < read.tokens.size(); ++id) {
        const Kind kind = id == 0           ? Kind::Unknown
                          : id < first_byte ? Kind::Control
                          : id < reserved   ? Kind::Byte
                                            : Kind::Normal;
        check(read.scores[id] == read.scores[id], source, ": token ", id, ": has no score");
        std::string text = read.tokens[id];
        if (kind == Kind::Byte)
            text = tokenizers::piece_of_byte(static_cast<int>(id - first_byte));  // old files: the byte
        check(text::is_valid_utf8(text), source, ": token ", id, ": is no UTF-8");
        file.pieces.push_back({std::move(text), read.scores[id], kind});
    }
    return file;
}

std::shared_ptr<tokenizers::Tokenizer> open(const std::filesystem::path& file_or_weights) {
    const std::filesystem::path path = tokenizer_of(file_or_weights);
    return tokenizers::make_sentencepiece(read_pieces(path), {.add_bos = true}, path.string());
}

// As SentencePiece's own file, which the reference reads: there a symbol stands for the space.
void write(const std::filesystem::path& file_or_weights, const std::filesystem::path& folder) {
    SentencePieceFile file = read_pieces(tokenizer_of(file_or_weights));
    const std::string symbol = SentencePieceFile{}.space;
    file.pieces[1].text = "<s>";  // between line ends there
    file.pieces[2].text = "</s>";
    for (SentencePieceFile::Piece& piece : file.pieces) {
        if (piece.kind != Kind::Normal) continue;
        std::string text;
        for (const char c : piece.text) text += c == ' ' ? symbol : std::string(1, c);
        piece.text = std::move(text);
    }
    formats::AtomicFile out(folder / "tokenizer.model");
    out.write(tokenizers::written(file));
    out.commit();
    formats::Json::object()
        .set("tokenizer_class", "LlamaTokenizer")
        .set("add_bos_token", true)
        .set("add_eos_token", false)
        .set("legacy", true)
        .set("clean_up_tokenization_spaces", false)
        .write(folder / "tokenizer_config.json");
}

bool fits(const std::filesystem::path& file) { return file.extension() == ".bin"; }

const tokenizers::RegisterTokenizerFile registered(
    {.in_folder = "tokenizer.bin", .rank = 8, .fits = fits, .open = open, .write = write});

}  // namespace
}  // namespace tessera::models
