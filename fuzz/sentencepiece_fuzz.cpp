// Any bytes are a model of SentencePiece or one Error; a model encodes texts to ids that it has, and decodes piece by
// piece, in whole characters, as at once.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "tokenizers/sentencepiece.h"
#include "tokenizers/stream_decoder.h"
#include "tokenizers/utf8.h"

namespace {

using namespace tessera::tokenizers;

void check_text(const Tokenizer& tokenizer, std::string_view text) {
    const Ids ids = tokenizer.encode(text);
    StreamDecoder decoder(tokenizer, false);
    std::string streamed;
    for (const std::int64_t id : ids) {
        if (id < 0 || id >= tokenizer.size()) std::abort();
        const std::string piece = decoder.add(id);
        if (!is_valid_utf8(piece)) std::abort();
        streamed += piece;
    }
    if (streamed + decoder.finish() != tokenizer.decode(ids)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(bytes), size);
    try {
        SentencePieceFile file = parse_sentencepiece(input, "fuzz.model");
        std::string pieces;
        for (const auto& piece : file.pieces) pieces += piece.text;
        const auto tokenizer = make_sentencepiece(std::move(file), {.add_bos = true, .add_eos = true}, "fuzz.model");
        for (const std::string_view text : {std::string_view(), std::string_view(" a  ab\n\0ba ", 11),
                                            std::string_view("\xE2\x96\x81\xF0\x9F\x98\x81 \xFF"), input})
            check_text(*tokenizer, text);
        check_text(*tokenizer, pieces);
    } catch (const tessera::Error&) {
    }
    return 0;
}
