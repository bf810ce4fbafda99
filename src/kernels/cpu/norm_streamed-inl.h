// RMS norm of large rows: results are written past the caches in the loop that reads what comes next. Included once per
// Highway target.
#if defined(TESSERA_NORM_STREAMED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_NORM_STREAMED_INL_H_
#undef TESSERA_NORM_STREAMED_INL_H_
#else
#define TESSERA_NORM_STREAMED_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/cpu/norm_row.h"
#include "kernels/cpu/row_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

// Writes this row past the caches and takes the squares of the next one in the same loop, so that memory is read while
// it is written: four reads, then four writes, which is faster than one of each in turn. The additions are those of
// row::sum, in the same order.
template <class T>
void write_and_read_on(NormRow<T>& r, const T* x) {
    const row::Tag<T> d;
    constexpr std::int64_t distance = 16384 / sizeof(T);  // of the fetches into the second cache, measured
    const std::int64_t lanes = row::lanes_of<T>();
    const auto rstd = row::set<T>(r.rstd);
    const auto normed = [&](const row::Streamed<T>& at)
                            HWY_ATTR { return hn::Mul(hn::Mul(at.load(x), rstd), at.load(r.weight)); };
    auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    for (std::int64_t i = 0; i < r.width; i += 4 * lanes) {
        for (int k = 0; k < 4; ++k) __builtin_prefetch(r.next + i + k * lanes + distance, 0, 2);
        const row::Streamed<T> at0{{i}}, at1{{i + lanes}}, at2{{i + 2 * lanes}}, at3{{i + 3 * lanes}};
        // Before the writes: rows lie whole pages apart, and would seem to overlap.
        const auto v0 = at0.load(r.next), v1 = at1.load(r.next), v2 = at2.load(r.next), v3 = at3.load(r.next);
        const auto y0 = normed(at0), y1 = normed(at1), y2 = normed(at2), y3 = normed(at3);
        at0.write(y0, r.out);
        at1.write(y1, r.out);
        at2.write(y2, r.out);
        at3.write(y3, r.out);
        s0 = hn::Add(s0, hn::Mul(v0, v0));
        s1 = hn::Add(s1, hn::Mul(v1, v1));
        s2 = hn::Add(s2, hn::Mul(v2, v2));
        s3 = hn::Add(s3, hn::Mul(v3, v3));
    }
    r.squares = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

// The same for two rows at once, which read the weight together: a long row, the one after it and the weight do not fit
// the first cache, and the fewer lines come back from the second the better.
template <class T>
void write_two_and_read_on(NormRow<T>& a, NormRow<T>& b) {
    const row::Tag<T> d;
    constexpr std::int64_t distance = 32768 / sizeof(T);
    const std::int64_t lanes = row::lanes_of<T>();
    const auto a_rstd = row::set<T>(a.rstd), b_rstd = row::set<T>(b.rstd);
    const auto two_vectors = [&](std::int64_t i, auto& a0, auto& a1, auto& b0, auto& b1) HWY_ATTR {
        const row::Streamed<T> at0{{i}}, at1{{i + lanes}};
        for (const row::Streamed<T>& at : {at0, at1}) {
            __builtin_prefetch(a.next + at.i + distance, 0, 2);
            __builtin_prefetch(b.next + at.i + distance, 0, 2);
        }
        const auto u0 = at0.load(a.next), u1 = at1.load(a.next), v0 = at0.load(b.next), v1 = at1.load(b.next);
        const auto w0 = at0.load(a.weight), w1 = at1.load(a.weight);
        const auto y0 = hn::Mul(hn::Mul(at0.load(a.x), a_rstd), w0), y1 = hn::Mul(hn::Mul(at1.load(a.x), a_rstd), w1);
        const auto z0 = hn::Mul(hn::Mul(at0.load(b.x), b_rstd), w0), z1 = hn::Mul(hn::Mul(at1.load(b.x), b_rstd), w1);
        at0.write(y0, a.out);
        at1.write(y1, a.out);
        at0.write(z0, b.out);
        at1.write(z1, b.out);
        a0 = hn::Add(a0, hn::Mul(u0, u0));
        a1 = hn::Add(a1, hn::Mul(u1, u1));
        b0 = hn::Add(b0, hn::Mul(v0, v0));
        b1 = hn::Add(b1, hn::Mul(v1, v1));
    };
    auto a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    for (std::int64_t i = 0; i < a.width; i += 4 * lanes) {
        two_vectors(i, a0, a1, b0, b1);
        two_vectors(i + 2 * lanes, a2, a3, b2, b3);
    }
    a.squares = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a0, a1), hn::Add(a2, a3))));
    b.squares = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(b0, b1), hn::Add(b2, b3))));
}

}  // namespace
}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
