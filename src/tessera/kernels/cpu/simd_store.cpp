#include "tessera/kernels/cpu/simd_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/simd_store.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Byte i of `to` gets byte i of `from`, or i modulo 64 where `from` is a pattern.
template <bool is_pattern>
void stream_bytes(const std::uint8_t* from, std::uint8_t* to, std::int64_t bytes) {
    const hn::ScalableTag<std::uint8_t> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    static_assert(hn::MaxLanes(hn::ScalableTag<std::uint8_t>()) <= 64);
    const auto source = [&](std::int64_t i) { return from + (is_pattern ? i % 64 : i); };
    std::uint8_t twice[128];  // so that a pattern can be read from any byte on
    std::int64_t i = 0;
    for (; i < bytes && !is_aligned(to + i); ++i) to[i] = *source(i);
    if constexpr (is_pattern) {
        for (int j = 0; j < 128; ++j) twice[j] = from[j % 64];
        for (; i + lanes <= bytes; i += lanes) hn::Stream(hn::LoadU(d, twice + i % 64), d, to + i);
    } else {
        for (; i + lanes <= bytes; i += lanes) hn::Stream(hn::LoadU(d, source(i)), d, to + i);
    }
    for (; i < bytes; ++i) to[i] = *source(i);
    hwy::FlushStream();
}

void copy_streaming(const std::uint8_t* from, std::uint8_t* to, std::int64_t bytes) {
    stream_bytes<false>(from, to, bytes);
}
void fill_streaming(const std::uint8_t* pattern, std::uint8_t* to, std::int64_t bytes) {
    stream_bytes<true>(pattern, to, bytes);
}

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {

HWY_EXPORT(copy_streaming);
HWY_EXPORT(fill_streaming);

void finish_streaming() { hwy::FlushStream(); }

void stream_copy(const void* from, void* to, std::int64_t bytes) {
    HWY_DYNAMIC_DISPATCH(copy_streaming)
    (static_cast<const std::uint8_t*>(from), static_cast<std::uint8_t*>(to), bytes);
}
void stream_fill(const void* pattern, void* to, std::int64_t bytes) {
    HWY_DYNAMIC_DISPATCH(fill_streaming)
    (static_cast<const std::uint8_t*>(pattern), static_cast<std::uint8_t*>(to), bytes);
}

}  // namespace tessera::kernels::cpu
#endif
