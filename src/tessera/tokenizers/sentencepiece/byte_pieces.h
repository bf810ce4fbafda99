// Bytes as tokens of their own, written <0x00> … <0xFF>.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "tessera/tokenizers/structures/vocabulary.h"

namespace tessera::tokenizers {

inline std::optional<char> byte_of_piece(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return {};
    int value = 0;
    for (const char c : token.substr(3, 2)) {
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) return {};
        value = 16 * value + digit;
    }
    return static_cast<char>(value);
}

inline std::string piece_of_byte(int byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte) & 0xFF);
    return name;
}

// The id of each byte's token; -1: none.
inline std::array<std::int32_t, 256> byte_pieces(const Vocabulary& vocabulary) {
    std::array<std::int32_t, 256> ids{};
    for (int byte = 0; byte < 256; ++byte) ids[static_cast<std::size_t>(byte)] = vocabulary.find(piece_of_byte(byte));
    return ids;
}

}  // namespace tessera::tokenizers
