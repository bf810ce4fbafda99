#include "tessera/tokenizers/stages/byte_level.h"

#include <array>

#include "tessera/text/utf8.h"

namespace tessera::tokenizers {
namespace {

constexpr bool prints(int byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr char32_t first_other = 0x100;
constexpr int others = 68;

struct Tables {
    std::array<char32_t, 256> characters{};
    std::array<int, first_other + others> bytes{};
};

constexpr Tables tables = [] {
    Tables made;
    made.bytes.fill(-1);
    char32_t other = first_other;
    for (int byte = 0; byte < 256; ++byte) {
        const char32_t c = prints(byte) ? static_cast<char32_t>(byte) : other++;
        made.characters[static_cast<std::size_t>(byte)] = c;
        made.bytes[c] = byte;
    }
    return made;
}();

}  // namespace

std::string to_byte_characters(std::string_view bytes) {
    std::string text;
    text.reserve(2 * bytes.size());
    for (const char byte : bytes) text::append_character(text, tables.characters[static_cast<unsigned char>(byte)]);
    return text;
}

std::optional<std::string> from_byte_characters(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); i += text::character_length(text[i])) {
        const char32_t c = text::character_at(text.data() + i);
        if (c >= tables.bytes.size() || tables.bytes[c] < 0) return {};
        bytes += static_cast<char>(tables.bytes[c]);
    }
    return bytes;
}

}  // namespace tessera::tokenizers
