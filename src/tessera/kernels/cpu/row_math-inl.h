// Vectors over one row: walking it, its sums and its maximum. Included once per Highway target by the row kernels.
#if defined(TESSERA_ROW_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_ROW_MATH_INL_H_
#undef TESSERA_ROW_MATH_INL_H_
#else
#define TESSERA_ROW_MATH_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tessera/kernels/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace row {

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Vector = hn::Vec<Tag<T>>;

template <class T>
HWY_INLINE Vector<T> set(T value) {
    return hn::Set(Tag<T>(), value);
}

// A place in a row, as wide as a vector. Bodies read with load, keep intermediate values with store, and put results
// with write, which goes past the caches where the walk is a streamed one.
template <class T>
struct Whole {
    std::int64_t i;

    HWY_INLINE Vector<T> load(const T* row) const { return hn::LoadU(Tag<T>(), row + i); }
    HWY_INLINE void store(Vector<T> v, T* row) const { hn::StoreU(v, Tag<T>(), row + i); }
    HWY_INLINE void write(Vector<T> v, T* row) const { store(v, row); }
};

template <class T>
struct Streamed : Whole<T> {
    HWY_INLINE void write(Vector<T> v, T* row) const { hn::Stream(v, Tag<T>(), row + this->i); }
};

// The same for fewer elements than a vector has; lanes past them load as 0.
template <class T>
struct Part {
    std::int64_t i;
    std::size_t count;

    HWY_INLINE auto mask() const { return hn::FirstN(Tag<T>(), count); }
    HWY_INLINE Vector<T> load(const T* row) const { return hn::MaskedLoad(mask(), Tag<T>(), row + i); }
    HWY_INLINE void store(Vector<T> v, T* row) const { hn::BlendedStore(v, mask(), Tag<T>(), row + i); }
    HWY_INLINE void write(Vector<T> v, T* row) const { store(v, row); }
};

template <class T>
HWY_INLINE std::int64_t lanes_of() {
    return static_cast<std::int64_t>(hn::Lanes(Tag<T>()));
}

// Calls body(place) along `length` elements. A body is a functor or a lambda with HWY_ATTR: lambdas do not inherit the
// target they are written for.
template <class T, class Body>
HWY_INLINE void walk(std::int64_t length, const Body& body) {
    const std::int64_t lanes = lanes_of<T>();
    std::int64_t i = 0;
    for (; i + lanes <= length; i += lanes) body(Whole<T>{i});
    if (i < length) body(Part<T>{i, static_cast<std::size_t>(length - i)});
}

// The same with streamed writes where `stream` is set. `out` gives the alignment; rows written besides must share it.
template <class T, class Body>
HWY_INLINE void walk(std::int64_t length, bool stream, const T* out, const Body& body) {
    if (!stream) return walk<T>(length, body);
    const std::int64_t lanes = lanes_of<T>();
    const std::uintptr_t vector_bytes = static_cast<std::uintptr_t>(lanes) * sizeof(T);
    const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(out) % vector_bytes;
    std::int64_t i = past ? std::min(length, static_cast<std::int64_t>((vector_bytes - past) / sizeof(T))) : 0;
    if (i > 0) body(Part<T>{0, static_cast<std::size_t>(i)});
    for (; i + lanes <= length; i += lanes) body(Streamed<T>{{i}});
    if (i < length) body(Part<T>{i, static_cast<std::size_t>(length - i)});
}

// out[i] = op(tag, in_0[i], in_1[i], …). With `stream`, the caller ends with finish_streaming().
template <class T, class Op, class... Inputs>
HWY_INLINE void map(std::int64_t length, bool stream, T* out, const Op& op, const Inputs*... in) {
    walk<T>(length, stream, out, [&](auto at) HWY_ATTR { at.write(op(Tag<T>(), at.load(in)...), out); });
}

// Fetches the next row into the second cache while this one is written: the first cache has this row. A request is
// dropped where the queue to memory is full, as it is behind streamed writes, so there each line is asked for twice, a
// page apart, and once more by fetch_on shortly before it is read. `next` may be none.
constexpr std::int64_t page = 4096;

template <class T, class Place>
HWY_INLINE void fetch_ahead(const T* next, Place at) {
    if (!next) return;
    __builtin_prefetch(next + at.i, 0, 2);
    if constexpr (std::is_same_v<Place, Streamed<T>>) __builtin_prefetch(next + at.i + page / sizeof(T), 0, 2);
}

template <class T, class Place>
HWY_INLINE void fetch_on(const T* row, Place at) {
    __builtin_prefetch(row + at.i + 2 * page / sizeof(T), 0, 2);
}

// Two sums of a row at once: body(place, a, b) adds to both. Several running vectors, so that additions overlap.
template <class T>
struct Sums {
    T first, second;
};

template <class T, class Body>
HWY_INLINE Sums<T> sum_pair(std::int64_t length, const Body& body) {
    const Tag<T> d;
    const std::int64_t lanes = lanes_of<T>();
    auto a0 = hn::Zero(d), a1 = hn::Zero(d), b0 = hn::Zero(d), b1 = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + 2 * lanes <= length; i += 2 * lanes) {
        body(Whole<T>{i}, a0, b0);
        body(Whole<T>{i + lanes}, a1, b1);
    }
    if (i + lanes <= length) {
        body(Whole<T>{i}, a0, b0);
        i += lanes;
    }
    if (i < length) {
        const Part<T> rest{i, static_cast<std::size_t>(length - i)};
        auto a = hn::Zero(d), b = hn::Zero(d);
        body(rest, a, b);
        a1 = hn::Add(a1, hn::IfThenElseZero(rest.mask(), a));
        b1 = hn::Add(b1, hn::IfThenElseZero(rest.mask(), b));
    }
    return {hn::GetLane(hn::SumOfLanes(d, hn::Add(a0, a1))), hn::GetLane(hn::SumOfLanes(d, hn::Add(b0, b1)))};
}

// Σ body(place) over the row.
template <class T, class Body>
HWY_INLINE T sum(std::int64_t length, const Body& body) {
    const Tag<T> d;
    const std::int64_t lanes = lanes_of<T>();
    auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + 4 * lanes <= length; i += 4 * lanes) {
        s0 = hn::Add(s0, body(Whole<T>{i}));
        s1 = hn::Add(s1, body(Whole<T>{i + lanes}));
        s2 = hn::Add(s2, body(Whole<T>{i + 2 * lanes}));
        s3 = hn::Add(s3, body(Whole<T>{i + 3 * lanes}));
    }
    for (; i + lanes <= length; i += lanes) s0 = hn::Add(s0, body(Whole<T>{i}));
    if (i < length) {
        const Part<T> rest{i, static_cast<std::size_t>(length - i)};
        s1 = hn::Add(s1, hn::IfThenElseZero(rest.mask(), body(rest)));
    }
    return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

// The largest value of a row, −∞ for an empty one. NaNs may or may not be passed over.
template <class T>
HWY_INLINE T maximum(const T* row, std::int64_t length) {
    const Tag<T> d;
    const std::int64_t lanes = lanes_of<T>();
    const auto least = hn::Set(d, -std::numeric_limits<T>::infinity());
    auto m0 = least, m1 = least, m2 = least, m3 = least;
    std::int64_t i = 0;
    for (; i + 4 * lanes <= length; i += 4 * lanes) {
        m0 = hn::Max(m0, hn::LoadU(d, row + i));
        m1 = hn::Max(m1, hn::LoadU(d, row + i + lanes));
        m2 = hn::Max(m2, hn::LoadU(d, row + i + 2 * lanes));
        m3 = hn::Max(m3, hn::LoadU(d, row + i + 3 * lanes));
    }
    for (; i + lanes <= length; i += lanes) m0 = hn::Max(m0, hn::LoadU(d, row + i));
    if (i < length) {
        const Part<T> rest{i, static_cast<std::size_t>(length - i)};
        m1 = hn::Max(m1, hn::IfThenElse(rest.mask(), rest.load(row), least));
    }
    return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(m0, m1), hn::Max(m2, m3))));
}

}  // namespace row
}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
