// A quick hash of short texts: eight bytes at a time, mixed by a 64 × 64 → 128 bit product. It differs from run to run,
// so that no file can hold texts that were chosen to collide.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace tessera::tokenizers {

extern const std::uint64_t hash_seed;  // drawn when the program starts

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = hash_seed ^ text.size();
    const char* at = text.data();
    std::size_t left = text.size();
    std::uint64_t part;
    for (; left >= 8; at += 8, left -= 8) {
        std::memcpy(&part, at, 8);
        hash = mix(hash ^ part, 0xD6E8FEB86659FD93u);
    }
    if (left >= 4) {
        std::uint32_t first, last;  // they overlap where fewer than eight are left
        std::memcpy(&first, at, 4);
        std::memcpy(&last, at + left - 4, 4);
        part = static_cast<std::uint64_t>(first) << 32 | last;
        return mix(hash ^ part, 0xA0761D6478BD642Fu);
    }
    if (left > 0) {
        const auto byte = [&](std::size_t i) { return static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])); };
        part = byte(0) << 16 | byte(left / 2) << 8 | byte(left - 1);
        return mix(hash ^ part, 0xA0761D6478BD642Fu);
    }
    return mix(hash, 0xA0761D6478BD642Fu);
}

inline std::uint64_t hash_of(std::uint64_t key) { return mix(key ^ hash_seed, 0xA0761D6478BD642Fu); }

// For the containers of the standard library.
struct SeededHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return hash_of(text); }
};

}  // namespace tessera::tokenizers
