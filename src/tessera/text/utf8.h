// UTF-8 (RFC 3629): one character at a time, and repair of what is broken, with U+FFFD for each longest broken part as
// the Unicode standard (3.9, best practice) and Rust's from_utf8_lossy have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::text {

inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

// The length by the first byte of a valid character.
inline std::size_t character_length(char first) {
    const auto lead = static_cast<unsigned char>(first);
    return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

// The character that begins at `at` of valid text.
inline char32_t character_at(const char* at) {
    const auto* p = reinterpret_cast<const unsigned char*>(at);
    if (p[0] < 0x80) return p[0];
    if (p[0] < 0xE0) return char32_t(p[0] & 0x1F) << 6 | (p[1] & 0x3F);
    if (p[0] < 0xF0) return char32_t(p[0] & 0x0F) << 12 | char32_t(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
    return char32_t(p[0] & 0x07) << 18 | char32_t(p[1] & 0x3F) << 12 | char32_t(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
}

// Where the character that ends before `position` of valid text begins.
inline std::size_t character_before(std::string_view text, std::size_t position) {
    do --position;
    while (position > 0 && (text[position] & 0xC0) == 0x80);
    return position;
}

void append_character(std::string& text, char32_t character);

// Whether a byte goes on with a character of UTF-8 that an earlier one began.
constexpr bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0u) == 0x80; }

// Characters of valid text: bytes that continue none.
inline std::int64_t character_count(std::string_view text) {
    std::int64_t count = 0;
    for (const char byte : text) count += (byte & 0xC0) != 0x80;
    return count;
}

// What stands at the beginning of a text that is not empty.
struct Utf8Step {
    enum Kind { Whole, Broken, Cut } kind;  // a character; bytes that can begin none; a character whose end is missing
    std::size_t length;
};
Utf8Step utf8_step(std::string_view text);

bool is_valid_utf8(std::string_view text);
// How many bytes at its beginning are whole characters.
std::size_t valid_utf8_length(std::string_view text);
std::string repaired_utf8(std::string_view text);

// The same for bytes that come bit by bit: gives whole characters only.
class Utf8Repair {
   public:
    void add(std::string_view bytes, std::string& out);
    void finish(std::string& out);

   private:
    std::string cut_;  // the beginning of a character
};

}  // namespace tessera::text
