// Numbers in a given form, for both of Python's ways of formatting ('%5.2f' and '{:>5,}').
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::jinja {

class TextBuilder;

constexpr std::int64_t most_format_width = 10'000;

// `form` is one of f F e E g G; the sign is written only when negative.
std::string formatted_float(double number, char form, int precision, bool alternate);
// `form` is one of d x X o b, without prefix; the sign is written only when negative.
std::string formatted_whole(std::int64_t number, char form);

void check_width(std::int64_t width);
// With what the width of a field adds. `align`: '<', '>', '^', or '=' for zeros between the sign and the digits.
void append_padded(TextBuilder& out, std::string_view text, std::int64_t width, char align, std::string_view fill);

}  // namespace tessera::jinja
