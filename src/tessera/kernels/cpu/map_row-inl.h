// One vector function over contiguous rows: out[i] = op(tag, in_0[i], in_1[i], …). Included once per target.
#if defined(TESSERA_MAP_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_MAP_ROW_INL_H_
#undef TESSERA_MAP_ROW_INL_H_
#else
#define TESSERA_MAP_ROW_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "tessera/kernels/cpu/simd_store.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Fewer values than a vector holds: in and out through a whole vector, so that a tail gets the bits of a full one.
template <class D, class T, class Op, class... Inputs>
HWY_INLINE void map_part(D d, std::int64_t count, T* out, const Op& op, const Inputs*... in) {
    const auto load = [&](const T* from) {
        HWY_ALIGN T lanes[hn::MaxLanes(D{})] = {};
        std::copy_n(from, count, lanes);
        return hn::Load(d, lanes);
    };
    HWY_ALIGN T result[hn::MaxLanes(D{})];
    hn::Store(op(d, load(in)...), d, result);
    std::copy_n(result, count, out);
}

// With `stream`, the caller ends with finish_streaming().
template <class T, class Op, class... Inputs>
HWY_INLINE void map_row(std::int64_t count, bool stream, T* HWY_RESTRICT out, const Op& op, const Inputs*... in) {
    const hn::ScalableTag<T> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    if (stream) {
        while (i < count && !is_aligned(out + i, sizeof(T) * hn::Lanes(d))) ++i;
        map_part(d, i, out, op, in...);
        for (; i + lanes <= count; i += lanes) hn::Stream(op(d, hn::LoadU(d, in + i)...), d, out + i);
    }
    for (; i + lanes <= count; i += lanes) hn::StoreU(op(d, hn::LoadU(d, in + i)...), d, out + i);
    if (i < count) map_part(d, count - i, out + i, op, (in + i)...);
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
