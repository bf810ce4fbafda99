// Text as Python sees it: a sequence of code points, though stored as UTF-8. A byte that belongs to no character counts
// as one of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::jinja {

std::size_t width_at(std::string_view text, std::size_t at);  // bytes of the character there
char32_t code_point_at(std::string_view text, std::size_t at);
void append_code_point(std::string& text, char32_t point);

std::int64_t length_of(std::string_view text);  // code points
// Where each character begins, and the end.
std::vector<std::size_t> offsets_of(std::string_view text);
std::string_view first_of(std::string_view text, std::int64_t count);  // so many characters, or all
std::size_t last_width(std::string_view text);                         // bytes of the last character

bool is_space(char32_t point);  // Python's str.isspace, which is also \s
bool is_alphabetic(char32_t point);
bool is_decimal(char32_t point);
bool is_digit(char32_t point);    // decimals and superscripts
bool is_numeric(char32_t point);  // also fractions and letter numbers
bool is_upper(char32_t point);
bool is_lower(char32_t point);
bool is_printable(char32_t point);  // what repr writes as it is

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string title(std::string_view text);       // every word, as Python's str.title
std::string capitalize(std::string_view text);  // the first character, the rest lower

class CharacterSet {
   public:
    explicit CharacterSet(std::string_view characters);
    bool holds(char32_t point) const;

   private:
    std::vector<char32_t> sorted_;
};

// Without a set: white space.
std::string_view strip_left(std::string_view text, const CharacterSet* set = nullptr);
std::string_view strip_right(std::string_view text, const CharacterSet* set = nullptr);

}  // namespace tessera::jinja
