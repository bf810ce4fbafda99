#include "tessera/jinja/string_literal.h"

#include "tessera/core/error.h"
#include "tessera/jinja/code_points.h"

namespace tessera::jinja {
namespace {

int hexadecimal(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char letter = static_cast<char>(c | 0x20);
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

char32_t hexadecimal_at(std::string_view body, std::size_t at, std::size_t digits, char letter) {
    char32_t point = 0;
    for (std::size_t i = at; i < at + digits; ++i) {
        const int digit = i < body.size() ? hexadecimal(body[i]) : -1;
        check(digit >= 0, "the escape \\", std::string(1, letter), " needs ", digits, " hexadecimal digits");
        point = point * 16 + static_cast<char32_t>(digit);
    }
    check(point < 0x110000 && (point < 0xD800 || point > 0xDFFF), "the escape \\", std::string(1, letter),
          " names no character");
    return point;
}

}  // namespace

std::string unescaped(std::string_view body) {
    constexpr std::string_view letters = "abfnrtv\\'\"", values = "\a\b\f\n\r\t\v\\'\"";
    std::string text;
    for (std::size_t at = 0; at < body.size();) {
        if (body[at] != '\\' || at + 1 == body.size()) {
            text += body[at++];
            continue;
        }
        const char letter = body[at + 1];
        at += 2;
        if (const std::size_t found = letters.find(letter); found != std::string_view::npos) {
            text += values[found];
        } else if (letter == '\n') {
            continue;
        } else if (letter >= '0' && letter <= '7') {
            char32_t point = static_cast<char32_t>(letter - '0');
            for (int digits = 1; digits < 3 && at < body.size() && body[at] >= '0' && body[at] <= '7'; ++digits)
                point = point * 8 + static_cast<char32_t>(body[at++] - '0');
            append_code_point(text, point);
        } else if (letter == 'x' || letter == 'u' || letter == 'U') {
            const std::size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : 8;
            append_code_point(text, hexadecimal_at(body, at, digits, letter));
            at += digits;
        } else {
            check(letter != 'N', "the escape \\N{…} is not known");
            (text += '\\') += letter;
        }
    }
    return text;
}

}  // namespace tessera::jinja
