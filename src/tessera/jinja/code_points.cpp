#include "tessera/jinja/code_points.h"

#include <utf8proc.h>

#include <algorithm>

namespace tessera::jinja {
namespace {

constexpr char32_t sharp_s = 0xDF;  // the one letter in common use whose capital is two

utf8proc_category_t category(char32_t point) { return utf8proc_category(static_cast<utf8proc_int32_t>(point)); }

// A byte outside every character stands for itself in private space, and is written back as that byte.
constexpr char32_t stray = 0x110000;

void append_upper(std::string& text, char32_t point, bool title_case) {
    if (point >= stray)
        append_code_point(text, point);
    else if (point == sharp_s)
        text += title_case ? "Ss" : "SS";
    else
        append_code_point(text, static_cast<char32_t>(title_case ? utf8proc_totitle(static_cast<int>(point))
                                                                 : utf8proc_toupper(static_cast<int>(point))));
}

void append_lower(std::string& text, char32_t point) {
    append_code_point(text, point >= stray ? point : static_cast<char32_t>(utf8proc_tolower(static_cast<int>(point))));
}

bool is_cased(char32_t point) {
    return is_upper(point) || is_lower(point) || (point < stray && category(point) == UTF8PROC_CATEGORY_LT);
}

}  // namespace

std::size_t width_at(std::string_view text, std::size_t at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) return 1;
    utf8proc_int32_t point = 0;
    const auto width = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                        static_cast<utf8proc_ssize_t>(text.size() - at), &point);
    return width > 0 ? static_cast<std::size_t>(width) : 1;
}

char32_t code_point_at(std::string_view text, std::size_t at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) return byte;
    utf8proc_int32_t point = 0;
    const auto width = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                        static_cast<utf8proc_ssize_t>(text.size() - at), &point);
    return width > 0 ? static_cast<char32_t>(point) : stray + byte;
}

void append_code_point(std::string& text, char32_t point) {
    if (point >= stray) {
        text += static_cast<char>(point - stray);
        return;
    }
    utf8proc_uint8_t bytes[4];
    const auto width = utf8proc_encode_char(static_cast<utf8proc_int32_t>(point), bytes);
    text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(width));
}

std::int64_t length_of(std::string_view text) {
    std::int64_t length = 0;
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) ++length;
    return length;
}

std::vector<std::size_t> offsets_of(std::string_view text) {
    std::vector<std::size_t> offsets;
    offsets.reserve(text.size() + 1);
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) offsets.push_back(at);
    offsets.push_back(text.size());
    return offsets;
}

std::string_view first_of(std::string_view text, std::int64_t count) {
    std::size_t at = 0;
    for (std::int64_t i = 0; i < count && at < text.size(); ++i) at += width_at(text, at);
    return text.substr(0, at);
}

std::size_t last_width(std::string_view text) {
    std::size_t width = 1;
    for (std::size_t back = 2; back <= 4 && back <= text.size(); ++back)
        if (width_at(text, text.size() - back) == back) width = back;
    return width;
}

bool is_space(char32_t point) {
    return (point >= 9 && point <= 13) || (point >= 0x1C && point <= 0x20) || point == 0x85 || point == 0xA0 ||
           point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
           point == 0x202F || point == 0x205F || point == 0x3000;
}

bool is_alphabetic(char32_t point) {
    if (point >= stray) return false;
    const auto kind = category(point);
    return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t point) { return point < stray && category(point) == UTF8PROC_CATEGORY_ND; }

bool is_digit(char32_t point) {
    return is_decimal(point) || point == 0xB2 || point == 0xB3 || point == 0xB9 || point == 0x2070 ||
           (point >= 0x2074 && point <= 0x2079) || (point >= 0x2080 && point <= 0x2089);
}

bool is_numeric(char32_t point) {
    if (point >= stray) return false;
    const auto kind = category(point);
    return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}

bool is_upper(char32_t point) { return point < stray && category(point) == UTF8PROC_CATEGORY_LU; }
bool is_lower(char32_t point) {
    return point < stray && (category(point) == UTF8PROC_CATEGORY_LL || point == 0xAA || point == 0xBA);
}

bool is_printable(char32_t point) {
    if (point == ' ') return true;
    if (point >= stray) return false;
    switch (category(point)) {
        case UTF8PROC_CATEGORY_CN:
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_ZS:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP: return false;
        default: return true;
    }
}

std::string upper(std::string_view text) {
    std::string result;
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at))
        append_upper(result, code_point_at(text, at), false);
    return result;
}

std::string lower(std::string_view text) {
    std::string result;
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) append_lower(result, code_point_at(text, at));
    return result;
}

std::string title(std::string_view text) {
    std::string result;
    bool in_word = false;
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) {
        const char32_t point = code_point_at(text, at);
        if (in_word)
            append_lower(result, point);
        else
            append_upper(result, point, true);
        in_word = is_cased(point);
    }
    return result;
}

std::string capitalize(std::string_view text) {
    if (text.empty()) return {};
    std::string result;
    append_upper(result, code_point_at(text, 0), true);
    return result + lower(text.substr(width_at(text, 0)));
}

CharacterSet::CharacterSet(std::string_view characters) {
    for (std::size_t at = 0; at < characters.size(); at += width_at(characters, at))
        sorted_.push_back(code_point_at(characters, at));
    std::sort(sorted_.begin(), sorted_.end());
}

bool CharacterSet::holds(char32_t point) const { return std::binary_search(sorted_.begin(), sorted_.end(), point); }

std::string_view strip_left(std::string_view text, const CharacterSet* set) {
    while (!text.empty()) {
        const char32_t point = code_point_at(text, 0);
        if (set ? !set->holds(point) : !is_space(point)) break;
        text.remove_prefix(width_at(text, 0));
    }
    return text;
}

std::string_view strip_right(std::string_view text, const CharacterSet* set) {
    while (!text.empty()) {
        const std::size_t begin = text.size() - last_width(text);
        const char32_t point = code_point_at(text, begin);
        if (set ? !set->holds(point) : !is_space(point)) break;
        text = text.substr(0, begin);
    }
    return text;
}

}  // namespace tessera::jinja
