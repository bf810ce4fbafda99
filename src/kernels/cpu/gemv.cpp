#include "kernels/cpu/gemv.h"

#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemv.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
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
    for (int r = 0; r < Rows; ++r)
        for (int m = 0; m < Count; ++m) {
            float total = hn::GetLane(hn::SumOfLanes(d, sums[r][m]));
            for (std::int64_t i = k; i < length; ++i)
                total += static_cast<float>(weight[r * leading + i]) * x[m * length + i];
            out[r * out_leading + m] = total;
        }
}

template <int Rows, class T>
HWY_INLINE void dots_with_all(const RowDots& p, std::int64_t row) {
    const T* weight = static_cast<const T*>(p.weight) + row * p.leading;
    float* out = p.out + row * p.count;
    std::int64_t m = 0;
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

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

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

}  // namespace tessera
#endif
