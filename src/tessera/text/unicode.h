// Unicode properties of characters, and the normal forms of a text (UAX #15), from utf8proc's tables.
#pragma once

#include <string>
#include <string_view>

namespace tessera::text {

bool is_letter(char32_t c);  // L
bool is_number(char32_t c);  // Nd, Nl, No
bool is_mark(char32_t c);    // Mn, Mc, Me
// By Unicode 8.0, as the reference has them (unicode_8.h).
bool is_nonspacing_mark(char32_t c);   // Mn
bool is_punctuation(char32_t c);       // P, and every ASCII character that is neither letter, digit, space nor control
bool is_control(char32_t c);           // Cc, Cf, Co
bool is_word_character(char32_t c);    // \w: alphabetic, mark, decimal digit, connector, joiner
bool is_ideograph(char32_t c);         // of Chinese, Japanese, Korean
constexpr bool is_space(char32_t c) {  // White_Space
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

enum class CharacterClass : unsigned char { Other, Letter, Number, Space };
CharacterClass class_of(char32_t c);

bool is_ascii(std::string_view text);

// All take valid UTF-8.
enum class NormalForm { C, D, KC, KD };
std::string normal_form(std::string_view text, NormalForm form);
std::string lower_case(std::string_view text);
// The length of the extended grapheme cluster (UAX #29) at the beginning.
std::size_t grapheme_length(std::string_view text);

}  // namespace tessera::text
