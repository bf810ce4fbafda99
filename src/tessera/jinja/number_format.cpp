#include "tessera/jinja/number_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tessera/core/error.h"
#include "tessera/jinja/code_points.h"
#include "tessera/jinja/text_builder.h"

namespace tessera::jinja {

std::string formatted_float(double number, char form, int precision, bool alternate) {
    check(precision <= most_format_width, "a format's precision is past ", most_format_width);
    if (!std::isfinite(number)) {
        const bool upper = form == 'F' || form == 'E' || form == 'G';
        const std::string name = std::isnan(number) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf");
        return (number < 0 ? "-" : "") + name;
    }
    const std::string pattern = std::string(alternate ? "{:#.{}" : "{:.{}") + form + "}";
    return fmt::format(fmt::runtime(pattern), number, precision);
}

std::string formatted_whole(std::int64_t number, char form) {
    std::uint64_t rest = number < 0 ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    const unsigned base = form == 'o' ? 8 : form == 'b' ? 2 : form == 'x' || form == 'X' ? 16 : 10;
    const char* letters = form == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    std::string digits;
    do {
        digits += letters[rest % base];
        rest /= base;
    } while (rest > 0);
    if (number < 0) digits += '-';
    std::reverse(digits.begin(), digits.end());
    return digits;
}

void check_width(std::int64_t width) {
    check(width <= most_format_width, "a format's width is past ", most_format_width);
}

void append_padded(TextBuilder& out, std::string_view text, std::int64_t width, char align, std::string_view fill) {
    check_width(width);
    if (width <= 0) return out.append(text);
    out.runtime().walk(text.size());
    const std::int64_t length = length_of(text);
    if (width <= length) return out.append(text);
    const auto missing = static_cast<std::size_t>(width - length);
    std::size_t before = align == '<' ? 0 : align == '^' ? missing / 2 : missing, sign = 0;
    if (align == '=') {
        sign = !text.empty() && (text[0] == '-' || text[0] == '+' || text[0] == ' ') ? 1 : 0;
        if (text.size() > sign + 1 && text[sign] == '0' &&
            (text[sign + 1] == 'x' || text[sign + 1] == 'X' || text[sign + 1] == 'o' || text[sign + 1] == 'b'))
            sign += 2;
    }
    out.append(text.substr(0, sign));
    out.repeat(fill, before);
    out.append(text.substr(sign));
    out.repeat(fill, missing - before);
}

}  // namespace tessera::jinja
