#include "tessera/kernels/cpu/gemv.h"

#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/gemv.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;

HWY_INLINE hn::Vec<Floats> load(Floats d, const float* from) { return hn::LoadU(d, from); }
HWY_INLINE hn::Vec<Floats> load(Floats d, const BFloat16* from) {
    const hn::Rebind<std::uint16_t, Floats> half;
    const hn::RebindToUnsigned<Floats> word;
    const auto bits = hn::LoadU(half, reinterpret_cast<const std::uint16_t*>(from));
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(word, bits)));
}
HWY_INLINE hn::Vec<Floats> load(Floats d, const Float16* from) {
    const hn::Rebind<hwy::float16_t, Floats> half;
    return hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from)));
}

// The sums of four vectors at once, each in the same order of additions.
HWY_INLINE void sums_of_lanes(Floats d, hn::Vec<Floats> a, hn::Vec<Floats> b, hn::Vec<Floats> c, hn::Vec<Floats> e,
                              float* HWY_RESTRICT out) {
    const auto ac = hn::Add(hn::InterleaveLower(d, a, c), hn::InterleaveUpper(d, a, c));
    const auto be = hn::Add(hn::InterleaveLower(d, b, e), hn::InterleaveUpper(d, b, e));
    HWY_ALIGN float blocks[hn::MaxLanes(d)];  // of a, b, c, e each, over and over
    hn::Store(hn::Add(hn::InterleaveLower(d, ac, be), hn::InterleaveUpper(d, ac, be)), d, blocks);
    const hn::FixedTag<float, 4> four;
    auto total = hn::Load(four, blocks);
    for (std::size_t i = 4; i < hn::Lanes(d); i += 4) total = hn::Add(total, hn::Load(four, blocks + i));
    hn::StoreU(total, four, out);
}

// Rows × Count dot products at once: one accumulator each, so that a sum does not depend on its company.
template <int Rows, int Count, class T>
HWY_INLINE void dots(const T* HWY_RESTRICT weight, std::int64_t leading, const float* HWY_RESTRICT x,
                     std::int64_t length, float* HWY_RESTRICT out, std::int64_t out_leading) {
    const Floats d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    hn::Vec<Floats> sums[Rows][Count];
    for (auto& row : sums)
        for (auto& sum : row) sum = hn::Zero(d);
    std::int64_t k = 0;
    for (; k + lanes <= length; k += lanes) {
        hn::Vec<Floats> vectors[Count];
        for (int m = 0; m < Count; ++m) vectors[m] = hn::LoadU(d, x + m * length + k);
        for (int r = 0; r < Rows; ++r) {
            const auto values = load(d, weight + r * leading + k);
            for (int m = 0; m < Count; ++m) sums[r][m] = hn::MulAdd(values, vectors[m], sums[r][m]);
        }
    }
    for (int m = 0; m < Count; ++m) {
        float totals[4];
        if constexpr (Rows == 4)
            sums_of_lanes(d, sums[0][m], sums[1][m], sums[2][m], sums[3][m], totals);
        else
            sums_of_lanes(d, sums[0][m], hn::Zero(d), hn::Zero(d), hn::Zero(d), totals);
        for (int r = 0; r < Rows; ++r) {
            for (std::int64_t i = k; i < length; ++i)
                totals[r] += static_cast<float>(weight[r * leading + i]) * x[m * length + i];
            out[r * out_leading + m] = totals[r];
        }
    }
}

template <int Rows, class T>
HWY_INLINE void dots_with_all(const RowDots& p, std::int64_t row) {
    const T* weight = static_cast<const T*>(p.weight) + row * p.leading;
    float* out = p.out + row * p.count;
    std::int64_t m = 0;
    if constexpr (HWY_MAX_BYTES >= 64)  // with half as many registers, sixteen sums would spill
        for (; m + 4 <= p.count; m += 4)
            dots<Rows, 4>(weight, p.leading, p.x + m * p.length, p.length, out + m, p.count);
    for (; m + 2 <= p.count; m += 2) dots<Rows, 2>(weight, p.leading, p.x + m * p.length, p.length, out + m, p.count);
    if (m < p.count) dots<Rows, 1>(weight, p.leading, p.x + m * p.length, p.length, out + m, p.count);
}

template <class T>
HWY_INLINE void row_dots_of(const RowDots& p) {
    std::int64_t row = 0;
    for (; row + 4 <= p.rows; row += 4) dots_with_all<4, T>(p, row);
    for (; row < p.rows; ++row) dots_with_all<1, T>(p, row);
}

void row_dots_f32(const RowDots& p) { row_dots_of<float>(p); }
void row_dots_bf16(const RowDots& p) { row_dots_of<BFloat16>(p); }
void row_dots_f16(const RowDots& p) { row_dots_of<Float16>(p); }

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {

HWY_EXPORT(row_dots_f32);
HWY_EXPORT(row_dots_bf16);
HWY_EXPORT(row_dots_f16);

void row_dots(const RowDots& dots) {
    switch (dots.dtype) {
        case DType::F32: return HWY_DYNAMIC_DISPATCH(row_dots_f32)(dots);
        case DType::BF16: return HWY_DYNAMIC_DISPATCH(row_dots_bf16)(dots);
        case DType::F16: return HWY_DYNAMIC_DISPATCH(row_dots_f16)(dots);
        default: fail("gemv: no kernel for ", dots.dtype);
    }
}

}  // namespace tessera::kernels::cpu
#endif
