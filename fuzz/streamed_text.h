// Properties of every tokenizer and text: ids are the same in parts, ids are within the vocabulary, streamed pieces
// are whole characters, and together they are the decoded text.
#pragma once

#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "tessera/text/utf8.h"
#include "tessera/tokenizers/stream_decoder.h"

inline void check_parts(const tessera::tokenizers::Tokenizer& tokenizer, std::string_view text,
                        const tessera::tokenizers::Ids& ids) {
    tessera::tokenizers::Ids parts;
    tokenizer.encode_in_parts(
        text, [&](std::span<const std::int64_t> part) { parts.insert(parts.end(), part.begin(), part.end()); });
    if (parts != ids) std::abort();
}

inline void check_streamed_text(const tessera::tokenizers::Tokenizer& tokenizer, const tessera::tokenizers::Ids& ids,
                                bool skip_special) {
    tessera::tokenizers::StreamDecoder decoder(tokenizer, skip_special);
    std::string streamed;
    for (const std::int64_t id : ids) {
        if (id < 0 || id >= tokenizer.size()) std::abort();
        const std::string piece = decoder.add(id);
        if (!tessera::text::is_valid_utf8(piece)) std::abort();
        streamed += piece;
    }
    if (streamed + decoder.finish() != tokenizer.decode(ids, skip_special)) std::abort();
}
