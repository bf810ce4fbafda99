// Any bytes up to the first zero byte are a tokenizer.json, and what follows it is a text: either one Error, or ids
// that the tokenizer has, and a text decoded piece by piece in whole characters as at once.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/error.h"
#include "formats/json.h"
#include "tokenizers/stream_decoder.h"
#include "tokenizers/tokenizer_json.h"
#include "tokenizers/utf8.h"

namespace {

using namespace tessera::tokenizers;

void check_text(const Tokenizer& tokenizer, std::string_view text) {
    const Ids ids = tokenizer.encode(text);
    tokenizer.encode_pair(text, text.substr(text.size() / 2));
    for (const bool skip_special : {false, true}) {
        StreamDecoder decoder(tokenizer, skip_special);
        std::string streamed;
        for (const std::int64_t id : ids) {
            if (id < 0 || id >= tokenizer.size()) std::abort();
            const std::string piece = decoder.add(id);
            if (!is_valid_utf8(piece)) std::abort();
            streamed += piece;
        }
        streamed += decoder.finish();
        if (streamed != tokenizer.decode(ids, skip_special)) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(bytes), size);
    const std::size_t end = std::min(input.find('\0'), size);
    try {
        const auto json = tessera::formats::Json::parse(input.substr(0, end), "fuzz.json");
        const auto tokenizer = parse_tokenizer_json(json, "fuzz.json");
        check_text(*tokenizer, input.substr(std::min(end + 1, size)));
    } catch (const tessera::Error&) {
    }
    return 0;
}
