// Any bytes up to the first zero byte are a tokenizer.json, and what follows it is a text: either one Error, or ids
// that the tokenizer has, and a text decoded piece by piece in whole characters as at once.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/error.h"
#include "formats/json.h"
#include "streamed_text.h"
#include "tokenizers/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(bytes), size);
    const std::size_t end = std::min(input.find('\0'), size);
    try {
        const auto json = tessera::formats::Json::parse(input.substr(0, end), "fuzz.json");
        const auto tokenizer = tessera::tokenizers::parse_tokenizer_json(json, "fuzz.json");
        const std::string_view text = input.substr(std::min(end + 1, size));
        tokenizer->encode_pair(text, text.substr(text.size() / 2));
        for (const bool skip_special : {false, true})
            check_streamed_text(*tokenizer, tokenizer->encode(text), skip_special);
    } catch (const tessera::Error&) {
    }
    return 0;
}
