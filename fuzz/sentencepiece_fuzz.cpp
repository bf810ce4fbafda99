// Any bytes are a model of SentencePiece or one Error; a model encodes texts to ids that it has, and decodes piece by
// piece, in whole characters, as at once.
#include <cstdint>
#include <string_view>

#include "streamed_text.h"
#include "tessera/core/error.h"
#include "tessera/tokenizers/sentencepiece/sentencepiece.h"

using namespace tessera::tokenizers;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(bytes), size);
    try {
        SentencePieceFile file = parse_sentencepiece(input, "fuzz.model");
        std::string pieces;
        for (const auto& piece : file.pieces) pieces += piece.text;
        const auto tokenizer = make_sentencepiece(std::move(file), {.add_bos = true, .add_eos = true}, "fuzz.model");
        for (const std::string_view text : {std::string_view(), std::string_view(" a  ab\n\0ba ", 11),
                                            std::string_view("\xE2\x96\x81\xF0\x9F\x98\x81 \xFF"), input}) {
            const Ids ids = tokenizer->encode(text);
            check_parts(*tokenizer, text, ids);
            check_streamed_text(*tokenizer, ids, false);
        }
        check_streamed_text(*tokenizer, tokenizer->encode(pieces), false);
    } catch (const tessera::Error&) {
    }
    return 0;
}
