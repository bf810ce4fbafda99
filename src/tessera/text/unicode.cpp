#include "tessera/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/core/error.h"
#include "tessera/text/unicode_8.h"
#include "tessera/text/utf8.h"

namespace tessera::text {
namespace {

utf8proc_category_t category(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

bool between(utf8proc_category_t value, utf8proc_category_t first, utf8proc_category_t last) {
    return value >= first && value <= last;
}

bool in(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

// Characters decomposed, those that combine in canonical order, then composed if the form is so. utf8proc's own loop
// would take the square of the time for a long run of marks.
void append_normal_form(std::string& out, std::string_view text, NormalForm form) {
    const bool composed = form == NormalForm::C || form == NormalForm::KC;
    const bool compatible = form == NormalForm::KC || form == NormalForm::KD;
    const int options =
        UTF8PROC_STABLE | (composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) | (compatible ? UTF8PROC_COMPAT : 0);
    std::vector<utf8proc_int32_t> characters;
    characters.reserve(text.size());
    int boundary = 0;
    utf8proc_int32_t parts[64];
    for (std::size_t i = 0; i < text.size(); i += character_length(text[i])) {
        const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(character_at(text.data() + i)), parts,
                                                   64, static_cast<utf8proc_option_t>(options), &boundary);
        check(count >= 0 && count <= 64, "unicode: no normal form: ", utf8proc_errmsg(count));
        characters.insert(characters.end(), parts, parts + count);
    }
    const auto combining = [](utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; };
    for (auto first = characters.begin(); first != characters.end();) {
        const auto last = std::find_if(first, characters.end(), [&](auto c) { return combining(c) == 0; });
        if (last - first > 1)
            std::stable_sort(first, last, [&](auto a, auto b) { return combining(a) < combining(b); });
        first = last == characters.end() ? last : last + 1;
    }
    auto count = static_cast<utf8proc_ssize_t>(characters.size());
    if (composed) count = utf8proc_normalize_utf32(characters.data(), count, static_cast<utf8proc_option_t>(options));
    for (utf8proc_ssize_t i = 0; i < count; ++i)
        append_character(out, static_cast<char32_t>(characters[static_cast<std::size_t>(i)]));
}

}  // namespace

bool is_letter(char32_t c) { return between(category(c), UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO); }
bool is_number(char32_t c) { return between(category(c), UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }
bool is_mark(char32_t c) { return between(category(c), UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME); }

bool is_nonspacing_mark(char32_t c) {
    return (category(c) == UTF8PROC_CATEGORY_MN && !is_since_unicode_8(c)) || c == 0x1734;
}

bool is_punctuation(char32_t c) {
    if (c < 0x80) return c > ' ' && c < 0x7F && class_of(c) == CharacterClass::Other;
    const bool punctuation = between(category(c), UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
    return (punctuation && !is_since_unicode_8(c)) || c == 0x166D || c == 0x111C9;
}

bool is_control(char32_t c) {
    const utf8proc_category_t kind = category(c);
    return kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CO ||
           (kind == UTF8PROC_CATEGORY_CF && !is_since_unicode_8(c));
}

bool is_word_character(char32_t c) {
    const utf8proc_category_t kind = category(c);
    return between(kind, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_NL) || kind == UTF8PROC_CATEGORY_PC || c == 0x200C ||
           c == 0x200D ||                                       // joiners
           in(c, 0x24B6, 0x24E9) || in(c, 0x1F130, 0x1F149) ||  // letters in circles and squares: alphabetic symbols
           in(c, 0x1F150, 0x1F169) || in(c, 0x1F170, 0x1F189);
}

bool is_ideograph(char32_t c) {
    return in(c, 0x4E00, 0x9FFF) || in(c, 0x3400, 0x4DBF) || in(c, 0x20000, 0x2A6DF) || in(c, 0x2A700, 0x2B73F) ||
           in(c, 0x2B740, 0x2B81F) || in(c, 0x2B920, 0x2CEAF) || in(c, 0xF900, 0xFAFF) || in(c, 0x2F800, 0x2FA1F);
}

CharacterClass class_of(char32_t c) {
    const utf8proc_category_t kind = category(c);
    if (between(kind, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO)) return CharacterClass::Letter;
    if (between(kind, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO)) return CharacterClass::Number;
    return is_space(c) ? CharacterClass::Space : CharacterClass::Other;
}

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

// Nothing reaches across two ASCII characters in a row, so what lies between such places is brought into form alone.
std::string normal_form(std::string_view text, NormalForm form) {
    const auto ascii = [&](std::size_t i) { return (text[i] & 0x80) == 0; };
    std::string out;
    out.reserve(text.size());
    std::size_t done = 0, i = 0;
    while (i < text.size()) {
        if (ascii(i)) {
            ++i;
            continue;
        }
        const std::size_t first = i > done ? i - 1 : i;
        std::size_t last = i;
        while (last < text.size() && !(ascii(last) && (last + 1 == text.size() || ascii(last + 1)))) ++last;
        out += text.substr(done, first - done);
        append_normal_form(out, text.substr(first, last - first), form);
        done = i = last;
    }
    return out += text.substr(done);
}

std::string lower_case(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); i += character_length(text[i])) {
        const char32_t c = character_at(text.data() + i);
        if (c < 0x80)
            out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
        else if (c == 0x130)  // the one character whose lower case is two: i and a dot above
            out += "i\xCC\x87";
        else
            append_character(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    }
    return out;
}

std::size_t grapheme_length(std::string_view text) {
    utf8proc_int32_t state = 0;
    std::size_t i = character_length(text[0]);
    auto previous = static_cast<utf8proc_int32_t>(character_at(text.data()));
    while (i < text.size()) {
        const auto next = static_cast<utf8proc_int32_t>(character_at(text.data() + i));
        if (utf8proc_grapheme_break_stateful(previous, next, &state)) break;
        previous = next;
        i += character_length(text[i]);
    }
    return i;
}

}  // namespace tessera::text
