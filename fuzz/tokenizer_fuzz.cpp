// Bytes that begin with a brace are, up to the first zero byte, a tokenizer.json, and what follows it is a text; of all
// others a tokenizer.json is made that opens most of the time, and a text for it. Either one Error, or ids that the
// tokenizer has, the same in parts as at once, within the bound on growth, and a text decoded piece by piece in whole
// characters as at once.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "made_tokenizer.h"
#include "streamed_text.h"
#include "tessera/core/error.h"
#include "tessera/formats/json.h"
#include "tessera/tokenizers/json/tokenizer_json.h"
#include "tessera/tokenizers/limits.h"

using namespace tessera;

namespace {

// Every byte of a text may become so many, and every one of those tokens for bytes with an affix on both sides.
void check_growth(const tokenizers::Ids& ids, std::size_t bytes) {
    using namespace tokenizers::limits;
    if (ids.size() > (growth * bytes + free_growth) * (2 * longest_affix + 4) + 2 * most_template_ids) std::abort();
}

void try_texts(const formats::Json& json, std::string_view text) {
    const auto tokenizer = tokenizers::parse_tokenizer_json(json, "fuzz.json");
    tokenizer->encode_pair(text, text.substr(text.size() / 2));
    const tokenizers::Ids ids = tokenizer->encode(text);
    check_growth(ids, text.size());
    check_parts(*tokenizer, text, ids);
    for (const bool skip_special : {false, true}) check_streamed_text(*tokenizer, ids, skip_special);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(bytes), size);
    try {
        if (input.starts_with('{')) {
            const std::size_t end = std::min(input.find('\0'), size);
            try_texts(formats::Json::parse(input.substr(0, end), "fuzz.json"), input.substr(std::min(end + 1, size)));
        } else {
            TokenizerSpec made(input);
            const formats::Json json = made.file();
            try_texts(json, made.remaining_text());
        }
    } catch (const Error&) {
    }
    return 0;
}
