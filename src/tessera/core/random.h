// Counter-based random numbers (Philox4x32-10, Salmon et al. 2011). A number is a pure function of (seed, stream,
// index), so the same element gets the same bits at any thread count and on any device. constexpr, so CUDA kernels call
// it as is.
#pragma once

#include <cstdint>

namespace tessera {

struct RandomKey {
    std::uint64_t seed = 0;
    std::uint64_t stream = 0;

    // A key of its own for each named use below this one, e.g. for each layer.
    constexpr RandomKey child(std::uint64_t index) const {
        std::uint64_t mixed = stream + 0x9e3779b97f4a7c15u * (index + 1);  // splitmix64
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
        return {seed, mixed ^ (mixed >> 31)};
    }
};

struct RandomBlock {
    std::uint32_t word[4];
};

constexpr RandomBlock philox(RandomKey key, std::uint64_t counter) {
    std::uint32_t c0 = static_cast<std::uint32_t>(counter), c1 = static_cast<std::uint32_t>(counter >> 32);
    std::uint32_t c2 = static_cast<std::uint32_t>(key.stream), c3 = static_cast<std::uint32_t>(key.stream >> 32);
    std::uint32_t k0 = static_cast<std::uint32_t>(key.seed), k1 = static_cast<std::uint32_t>(key.seed >> 32);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t left = std::uint64_t{0xd2511f53u} * c0, right = std::uint64_t{0xcd9e8d57u} * c2;
        const std::uint32_t n0 = static_cast<std::uint32_t>(right >> 32) ^ c1 ^ k0;
        const std::uint32_t n2 = static_cast<std::uint32_t>(left >> 32) ^ c3 ^ k1;
        c1 = static_cast<std::uint32_t>(right);
        c3 = static_cast<std::uint32_t>(left);
        c0 = n0;
        c2 = n2;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return {{c0, c1, c2, c3}};
}

// The index-th 32 random bits of a key.
constexpr std::uint32_t random_bits(RandomKey key, std::uint64_t index) {
    return philox(key, index / 4).word[index % 4];
}

// In [0, 1), a multiple of 2^-24.
constexpr float uniform(std::uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

}  // namespace tessera
