#include "tessera/kernels/cpu/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/convert.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void bf16_to_float(const std::uint16_t* from, float* to, std::int64_t count) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<std::uint16_t, decltype(d)> half;
    const hn::RebindToUnsigned<decltype(d)> word;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(word, hn::LoadU(half, from + i)))), d, to + i);
    for (; i < count; ++i) to[i] = std::bit_cast<float>(std::uint32_t{from[i]} << 16);
}

void float_to_bf16(const float* from, BFloat16* to, std::int64_t count) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<std::uint16_t, decltype(d)> half;
    const hn::RebindToUnsigned<decltype(d)> word;
    const hn::RebindToSigned<decltype(d)> signed_word;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        const auto value = hn::LoadU(d, from + i);
        const auto bits = hn::BitCast(word, value);
        const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(word, 1));
        const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(word, 0x7fff))));
        const auto quiet_nan = hn::Or(hn::ShiftRight<16>(bits), hn::Set(word, 0x40));
        const auto chosen = hn::IfThenElse(hn::RebindMask(word, hn::IsNaN(value)), quiet_nan, rounded);
        hn::StoreU(hn::DemoteTo(half, hn::BitCast(signed_word, chosen)), half,
                   reinterpret_cast<std::uint16_t*>(to + i));
    }
    for (; i < count; ++i) to[i] = BFloat16(from[i]);
}

void f16_to_float(const Float16* from, float* to, std::int64_t count) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> half;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from + i))), d, to + i);
    for (; i < count; ++i) to[i] = from[i];
}

void float_to_f16(const float* from, Float16* to, std::int64_t count) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> half;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        hn::StoreU(hn::DemoteTo(half, hn::LoadU(d, from + i)), half, reinterpret_cast<hwy::float16_t*>(to + i));
    for (; i < count; ++i) to[i] = Float16(from[i]);
}

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {

HWY_EXPORT(bf16_to_float);
HWY_EXPORT(float_to_bf16);
HWY_EXPORT(f16_to_float);
HWY_EXPORT(float_to_f16);

void to_float(const BFloat16* from, float* to, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(bf16_to_float)(&from->bits, to, count);
}
void to_float(const Float16* from, float* to, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(f16_to_float)(from, to, count);
}
void from_float(const float* from, BFloat16* to, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(float_to_bf16)(from, to, count);
}
void from_float(const float* from, Float16* to, std::int64_t count) {
    HWY_DYNAMIC_DISPATCH(float_to_f16)(from, to, count);
}

}  // namespace tessera::kernels::cpu
#endif
