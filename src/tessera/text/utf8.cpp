#include "tessera/text/utf8.h"

#include <cstdint>
#include <cstring>

namespace tessera::text {

void append_character(std::string& text, char32_t c) {
    if (c < 0x80) {
        text += static_cast<char>(c);
        return;
    }
    if (c < 0x800) {
        text += static_cast<char>(0xC0 | c >> 6);
    } else {
        if (c < 0x10000) {
            text += static_cast<char>(0xE0 | c >> 12);
        } else {
            text += static_cast<char>(0xF0 | c >> 18);
            text += static_cast<char>(0x80 | (c >> 12 & 0x3F));
        }
        text += static_cast<char>(0x80 | (c >> 6 & 0x3F));
    }
    text += static_cast<char>(0x80 | (c & 0x3F));
}

Utf8Step utf8_step(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return {Utf8Step::Whole, 1};
    if (lead < 0xC2 || lead > 0xF4) return {Utf8Step::Broken, 1};
    const std::size_t length = character_length(text[0]);
    // The second byte of some is bounded further: no overlong forms, no surrogates, nothing past U+10FFFF.
    unsigned char low = 0x80, high = 0xBF;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    for (std::size_t i = 1; i < length; ++i) {
        if (i == text.size()) return {Utf8Step::Cut, i};
        if (byte(i) < low || byte(i) > high) return {Utf8Step::Broken, i};
        low = 0x80, high = 0xBF;
    }
    return {Utf8Step::Whole, length};
}

// ASCII is passed over eight bytes at a time.
std::size_t valid_utf8_length(std::string_view text) {
    std::size_t i = 0;
    while (i < text.size()) {
        std::uint64_t eight;
        while (i + 8 <= text.size() && (std::memcpy(&eight, text.data() + i, 8), (eight & 0x8080808080808080u) == 0))
            i += 8;
        if (i == text.size()) break;
        const Utf8Step step = utf8_step(text.substr(i));
        if (step.kind != Utf8Step::Whole) break;
        i += step.length;
    }
    return i;
}

bool is_valid_utf8(std::string_view text) { return valid_utf8_length(text) == text.size(); }

std::string repaired_utf8(std::string_view text) {
    Utf8Repair repair;
    std::string out;
    repair.add(text, out);
    repair.finish(out);
    return out;
}

void Utf8Repair::add(std::string_view bytes, std::string& out) {
    std::string joined;
    if (!cut_.empty()) {
        joined = cut_.append(bytes);
        bytes = joined;
        cut_.clear();
    }
    while (!bytes.empty()) {
        const std::size_t valid = valid_utf8_length(bytes);
        out += bytes.substr(0, valid);
        bytes.remove_prefix(valid);
        if (bytes.empty()) return;
        const Utf8Step step = utf8_step(bytes);
        if (step.kind == Utf8Step::Cut) {
            cut_ = bytes;
            return;
        }
        out += replacement_character;
        bytes.remove_prefix(step.length);
    }
}

void Utf8Repair::finish(std::string& out) {
    if (!cut_.empty()) out += replacement_character;
    cut_.clear();
}

}  // namespace tessera::text
