// Walks a row vector by vector and its end element by element. Included once per Highway target.
#if defined(TESSERA_OVER_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_OVER_VECTORS_INL_H
#undef TESSERA_OVER_VECTORS_INL_H
#else
#define TESSERA_OVER_VECTORS_INL_H
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {

// Calls at(d, i) for every vector of `count` elements of T, with a tag of one lane for the last few. A functor, not a
// lambda: lambdas do not inherit the target they are written for.
template <class T, class At>
HWY_INLINE void over_vectors(std::int64_t count, const At& at) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<T> d;
    const hn::CappedTag<T, 1> one;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) at(d, i);
    for (; i < count; ++i) at(one, i);
}

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
