// Products and roundings of bf16 pairs in AVX-512's own instructions, which Highway does not know yet; compiled once
// per vector target, and of use only where TESSERA_BF16_PAIRS is true and multiplies_bf16_pairs() says so.
#if defined(TESSERA_BF16_PAIRS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_BF16_PAIRS_INL_H
#undef TESSERA_BF16_PAIRS_INL_H
#else
#define TESSERA_BF16_PAIRS_INL_H
#endif

#include <hwy/highway.h>

#include "tessera/kernels/cpu/bf16_pairs.h"

#ifndef TESSERA_BF16_PAIRS
#define TESSERA_BF16_PAIRS (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL)
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// sum + a · b
template <class D>
HWY_INLINE hn::Vec<D> multiply_add(D, hn::Vec<D> a, hn::Vec<D> b, hn::Vec<D> sum) {
    return hn::MulAdd(a, b, sum);
}

#if TESSERA_BF16_PAIRS

using Floats = hn::Vec<hn::ScalableTag<float>>;
using Pairs = hn::Vec<hn::ScalableTag<Bf16Pair>>;

// The same over both numbers of each pair.
HWY_INLINE Floats multiply_add(hn::ScalableTag<float>, Pairs a, Pairs b, Floats sum) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
    return sum;
}

// Neighbours of the one vector after the other, rounded.
HWY_INLINE Pairs rounded_pairs(Floats low, Floats high) {
    Pairs out;
    asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(out.raw) : "v"(low.raw), "v"(high.raw));
    return out;
}

// Word i: first[i] and second[i], rounded.
HWY_INLINE Pairs rounded_pairs_across(Floats first, Floats second) {
    alignas(64) static constexpr std::uint16_t order[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                            21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                            11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return Pairs{_mm512_permutexvar_epi16(_mm512_load_si512(order), rounded_pairs(first, second).raw)};
}

#endif

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
