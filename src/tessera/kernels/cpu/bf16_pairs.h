// Two bf16 numbers in one word, the earlier in its low half: what bf16 products take, two steps of their sum at once.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tessera/kernels/attention.h"

namespace tessera::kernels::cpu {

using Bf16Pair = std::uint32_t;

template <class Word>
inline constexpr bool is_pair = std::is_same_v<Word, Bf16Pair>;

// Steps of a product's sum in one word of its factors.
template <class Word>
inline constexpr std::int64_t steps_of = is_pair<Word> ? 2 : 1;

template <class Word>
constexpr std::int64_t words_of(std::int64_t steps) {
    return (steps + steps_of<Word> - 1) / steps_of<Word>;
}

// The words that hold these steps.
template <class Word>
constexpr kernels::KeyRange words_of(kernels::KeyRange steps) {
    return {steps.begin / steps_of<Word>, words_of<Word>(steps.end)};
}

// Whether this processor multiplies such pairs in one instruction.
inline bool multiplies_bf16_pairs() {
#if defined(__x86_64__)
    static const bool does = __builtin_cpu_supports("avx512bf16");
    return does;
#else
    return false;
#endif
}

}  // namespace tessera::kernels::cpu
