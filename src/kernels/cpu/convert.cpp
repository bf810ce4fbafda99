#include "kernels/cpu/convert.h"

#include <cstring>

#include "kernels/cpu/simd_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/convert.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
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

void stream_bytes(const std::uint8_t* from, std::uint8_t* to, std::int64_t bytes) {
    const hn::ScalableTag<std::uint8_t> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    for (; i < bytes && !is_aligned(to + i); ++i) to[i] = from[i];
    for (; i + lanes <= bytes; i += lanes) hn::Stream(hn::LoadU(d, from + i), d, to + i);
    for (; i < bytes; ++i) to[i] = from[i];
    hwy::FlushStream();
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {

HWY_EXPORT(bf16_to_float);
HWY_EXPORT(float_to_bf16);
HWY_EXPORT(f16_to_float);
HWY_EXPORT(float_to_f16);
HWY_EXPORT(stream_bytes);

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

void copy_bytes(const void* from, void* to, std::int64_t bytes, bool stream) {
    if (!stream) return static_cast<void>(std::memcpy(to, from, static_cast<std::size_t>(bytes)));
    HWY_DYNAMIC_DISPATCH(stream_bytes)
    (static_cast<const std::uint8_t*>(from), static_cast<std::uint8_t*>(to), bytes);
}

}  // namespace tessera
#endif
