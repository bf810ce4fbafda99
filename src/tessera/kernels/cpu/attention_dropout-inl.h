// Dropout of a run of weights: core/random.h's numbers, a vector of counters at a time; compiled once per vector
// target.
#if defined(TESSERA_ATTENTION_DROPOUT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_ATTENTION_DROPOUT_INL_H
#undef TESSERA_ATTENTION_DROPOUT_INL_H
#else
#define TESSERA_ATTENTION_DROPOUT_INL_H
#endif

#include <hwy/highway.h>

#include "tessera/kernels/cpu/attention_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The low and high halves of the products of 32-bit lanes.
template <class D, class V>
HWY_INLINE void multiply_wide(D d, V a, V b, V& low, V& high) {
    const hn::RepartitionToWide<D> wide;
    const auto even = hn::MulEven(a, b);
    const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), b);
    low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
    high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
}

// The random words 4 · counter … of `blocks` counters, rounded up to whole vectors.
inline void random_words(RandomKey key, std::uint64_t counter, std::int64_t blocks, std::uint32_t* words) {
    const hn::ScalableTag<std::uint32_t> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t i = 0; i < blocks; i += lanes, counter += static_cast<std::uint64_t>(lanes)) {
        const auto start = hn::Set(d, static_cast<std::uint32_t>(counter));
        auto c0 = hn::Add(start, hn::Iota(d, 0));
        const auto carry = hn::VecFromMask(d, hn::Lt(c0, start));  // all ones: minus one
        auto c1 = hn::Sub(hn::Set(d, static_cast<std::uint32_t>(counter >> 32)), carry);
        auto c2 = hn::Set(d, static_cast<std::uint32_t>(key.stream));
        auto c3 = hn::Set(d, static_cast<std::uint32_t>(key.stream >> 32));
        auto k0 = hn::Set(d, static_cast<std::uint32_t>(key.seed));
        auto k1 = hn::Set(d, static_cast<std::uint32_t>(key.seed >> 32));
        for (int round = 0; round < 10; ++round) {
            auto left_low = c0, left_high = c0, right_low = c0, right_high = c0;
            multiply_wide(d, c0, hn::Set(d, 0xd2511f53u), left_low, left_high);
            multiply_wide(d, c2, hn::Set(d, 0xcd9e8d57u), right_low, right_high);
            c0 = hn::Xor(hn::Xor(right_high, c1), k0);
            c2 = hn::Xor(hn::Xor(left_high, c3), k1);
            c1 = right_low;
            c3 = left_low;
            k0 = hn::Add(k0, hn::Set(d, 0x9e3779b9u));
            k1 = hn::Add(k1, hn::Set(d, 0xbb67ae85u));
        }
        hn::StoreInterleaved4(c0, c1, c2, c3, d, words + 4 * i);
    }
}

// factors[i] = kept where the random bits of `index` + i reach the threshold, else 0; at most key_block of them.
template <class T>
void dropout_factors(RandomKey key, std::uint32_t threshold, T kept, std::uint64_t index, std::int64_t count,
                     T* factors) {
    alignas(64) std::uint32_t words[2 * key_block];
    const std::uint64_t first = index / 4;
    const auto skip = static_cast<std::int64_t>(index % 4);
    random_words(key, first, (skip + count + 3) / 4, words);
    for (std::int64_t i = 0; i < count; ++i) factors[i] = words[skip + i] >= threshold ? kept : T(0);
}

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
