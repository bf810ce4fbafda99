// Rotary embedding. Sines and cosines are computed once per position, in double precision, and used for all its heads.
#include "kernels/rope.h"

#include "core/parallel.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/rope.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "kernels/cpu/row_math-inl.h"

#ifndef TESSERA_ROPE_HEADS
#define TESSERA_ROPE_HEADS
namespace tessera {
namespace {

// The heads of one position, each a row of `width` elements.
template <class T>
struct RopeHeads {
    const T* x = nullptr;
    T* out = nullptr;
    std::int64_t heads = 1, x_stride = 0, out_stride = 0;
    // Half-split: `pairs` values. Adjacent: each value twice, the sine negated at even places.
    const T* cosines = nullptr;
    const T* sines = nullptr;
    std::int64_t pairs = 0, width = 0;
    bool adjacent = false, stream = false;
};

}  // namespace
}  // namespace tessera
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

using Doubles = row::Vector<double>;

constexpr auto inverse_factorials = [] {
    std::array<double, 19> values{1};
    double factorial = 1;
    for (std::size_t k = 1; k < values.size(); ++k) values[k] = 1 / (factorial *= static_cast<double>(k));
    return values;
}();

// sin r = r − r³/3! + … and cos r = 1 − r²/2! + …; for |r| ≤ π/4 the first terms left out are below 1e-18.
HWY_INLINE void sine_and_cosine_series(Doubles r, Doubles& sine, Doubles& cosine) {
    const auto negated_square = hn::Neg(hn::Mul(r, r));
    sine = row::set(inverse_factorials[17]);
    for (std::size_t k = 15; k >= 3; k -= 2) sine = hn::MulAdd(sine, negated_square, row::set(inverse_factorials[k]));
    sine = hn::MulAdd(hn::Mul(sine, negated_square), r, r);
    cosine = row::set(inverse_factorials[18]);
    for (std::size_t k = 18; k >= 2; k -= 2)
        cosine = hn::MulAdd(cosine, negated_square, row::set(inverse_factorials[k - 2]));
}

// Sine and cosine of any angle that a position can give (below 2^50).
HWY_INLINE void sine_and_cosine(Doubles angle, Doubles& sine, Doubles& cosine) {
    const hn::RebindToUnsigned<row::Tag<double>> integers;
    const row::Tag<double> d;
    // angle = quarter · π/2 + r; adding 1.5·2^52 rounds to an integer and leaves it in the low bits.
    const auto rounder = row::set(0x1.8p52);
    const auto shifted = hn::MulAdd(angle, row::set(0.63661977236758134308), rounder);
    const auto quarter = hn::Sub(shifted, rounder);
    auto r = hn::NegMulAdd(quarter, row::set(0x1.921fb54442d18p0), angle);  // π/2 in two pieces
    r = hn::NegMulAdd(quarter, row::set(0x1.1a62633145c07p-54), r);
    Doubles s, c;
    sine_and_cosine_series(r, s, c);
    const auto bits = hn::BitCast(integers, shifted);
    const auto one = hn::Set(integers, 1), two = hn::Set(integers, 2);
    const auto is_odd = hn::RebindMask(d, hn::Eq(hn::And(bits, one), one));
    const auto sine_sign = hn::ShiftLeft<62>(hn::And(bits, two));
    const auto cosine_sign = hn::ShiftLeft<62>(hn::And(hn::Add(bits, one), two));
    sine = hn::Xor(hn::IfThenElse(is_odd, c, s), hn::BitCast(d, sine_sign));
    cosine = hn::Xor(hn::IfThenElse(is_odd, s, c), hn::BitCast(d, cosine_sign));
}

// The arrays have room for a whole vector past `pairs`.
void sines_and_cosines(float position, const float* inverse_frequencies, std::int64_t pairs, double* sines,
                       double* cosines) {
    const row::Tag<double> d;
    const hn::Rebind<float, row::Tag<double>> floats;
    const auto lanes = row::lanes_of<double>();
    for (std::int64_t i = 0; i < pairs; i += lanes) {
        const auto frequency =
            hn::MaskedLoad(hn::FirstN(floats, static_cast<std::size_t>(pairs - i)), floats, inverse_frequencies + i);
        Doubles sine, cosine;
        sine_and_cosine(hn::PromoteTo(d, hn::Mul(frequency, hn::Set(floats, position))), sine, cosine);
        hn::StoreU(sine, d, sines + i);
        hn::StoreU(cosine, d, cosines + i);
    }
}

template <class T>
void rotate_halves(const RopeHeads<T>& r, const T* x, T* out) {
    const T* x_right = x + r.pairs;
    T* out_right = out + r.pairs;
    row::walk<T>(r.pairs, r.stream, out, [&](auto at) HWY_ATTR {
        const auto a = at.load(x), b = at.load(x_right), c = at.load(r.cosines), s = at.load(r.sines);
        at.write(hn::NegMulAdd(b, s, hn::Mul(a, c)), out);
        at.write(hn::MulAdd(a, s, hn::Mul(b, c)), out_right);
    });
}

template <class T>
void rotate_neighbours(const RopeHeads<T>& r, const T* x, T* out) {
    row::walk<T>(2 * r.pairs, r.stream, out, [&](auto at) HWY_ATTR {
        const auto value = at.load(x), partner = hn::Reverse2(row::Tag<T>(), value);
        at.write(hn::MulAdd(partner, at.load(r.sines), hn::Mul(value, at.load(r.cosines))), out);
    });
}

template <class T>
void rope_heads(const RopeHeads<T>& r) {
    const std::int64_t rotated = 2 * r.pairs;
    for (std::int64_t head = 0; head < r.heads; ++head) {
        const T* x = r.x + head * r.x_stride;
        T* out = r.out + head * r.out_stride;
        if (r.adjacent)
            rotate_neighbours(r, x, out);
        else
            rotate_halves(r, x, out);
        row::walk<T>(r.width - rotated, r.stream, out + rotated,
                     [&](auto at) HWY_ATTR { at.write(at.load(x + rotated), out + rotated); });
    }
}

void rope_f32(const RopeHeads<float>& r) { rope_heads(r); }
void rope_f64(const RopeHeads<double>& r) { rope_heads(r); }

}  // namespace
}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
namespace {

HWY_EXPORT(sines_and_cosines);
HWY_EXPORT(rope_f32);
HWY_EXPORT(rope_f64);

// The tables of one position, as RopeHeads wants them.
template <class T>
class Angles {
   public:
    explicit Angles(const kernels::Rope& rope)
        : rope_(rope),
          pairs_(rope.inverse_frequencies.elements()),
          double_sines_(padded(pairs_)),
          double_cosines_(padded(pairs_)),
          sines_(padded(2 * pairs_)),
          cosines_(padded(2 * pairs_)) {}

    void at(std::int64_t position) {
        HWY_DYNAMIC_DISPATCH(sines_and_cosines)
        (static_cast<float>(position), rope_.inverse_frequencies.as<float>(), pairs_, double_sines_.data(),
         double_cosines_.data());
        const double sine_factor = rope_.inverse ? -rope_.magnitude : rope_.magnitude;
        for (std::size_t i = 0; i < static_cast<std::size_t>(pairs_); ++i) {
            const T sine = static_cast<T>(double_sines_[i] * sine_factor);
            const T cosine = static_cast<T>(double_cosines_[i] * rope_.magnitude);
            if (rope_.adjacent) {
                sines_[2 * i] = -sine;
                sines_[2 * i + 1] = sine;
                cosines_[2 * i] = cosines_[2 * i + 1] = cosine;
            } else {
                sines_[i] = sine;
                cosines_[i] = cosine;
            }
        }
    }

    const T* sines() const { return sines_.data(); }
    const T* cosines() const { return cosines_.data(); }

   private:
    static std::size_t padded(std::int64_t count) { return static_cast<std::size_t>(count) + 64; }

    const kernels::Rope& rope_;
    std::int64_t pairs_;
    std::vector<double> double_sines_, double_cosines_;
    std::vector<T> sines_, cosines_;
};

template <class T, class Compute>
void rotate_position(const kernels::Rope& rope, const T* x, T* out, RopeHeads<Compute> heads,
                     void (*function)(const RopeHeads<Compute>&)) {
    if constexpr (std::is_same_v<T, Compute>) {
        if (rope.x.strides[3] == 1 && rope.out.strides[3] == 1) {
            heads.x = x;
            heads.out = out;
            heads.heads = rope.x.shape[2];
            heads.x_stride = rope.x.strides[2];
            heads.out_stride = rope.out.strides[2];
            return function(heads);
        }
    }
    const auto [x_buffer, out_buffer] = thread_buffers<2, Compute>(heads.width);
    heads.stream = false;
    for (std::int64_t head = 0; head < rope.x.shape[2]; ++head) {
        heads.x = load_row<Compute>(x + head * rope.x.strides[2], rope.x.strides[3], heads.width, x_buffer);
        heads.out = out_buffer;
        function(heads);
        store_row<Compute>(out_buffer, out + head * rope.out.strides[2], rope.out.strides[3], heads.width);
    }
}

template <class T, class Compute>
void run(const kernels::Rope& rope, void (*function)(const RopeHeads<Compute>&)) {
    const std::int64_t time = rope.x.shape[1], pairs = rope.inverse_frequencies.elements();
    RopeHeads<Compute> heads;
    heads.pairs = pairs;
    heads.width = rope.x.shape[3];
    heads.adjacent = rope.adjacent;
    // Both halves are written in step, so they must lie alike in their cache lines.
    const bool aligns = rope.adjacent || pairs * static_cast<std::int64_t>(sizeof(T)) % 64 == 0;
    heads.stream = aligns && worth_streaming(bytes_of(rope.out.dtype, rope.out.elements()));
    const std::int64_t grain = rows_per_piece(rope.x.shape[2] * heads.width);
    parallel_for(rope.x.shape[0] * time, grain, [&](std::int64_t begin, std::int64_t end) {
        Angles<Compute> angles(rope);
        RopeHeads<Compute> mine = heads;
        mine.sines = angles.sines();
        mine.cosines = angles.cosines();
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t batch = i / time, t = i % time;
            angles.at(
                rope.positions.as<std::int64_t>()[batch * rope.positions.strides[0] + t * rope.positions.strides[1]]);
            rotate_position(rope, rope.x.as<T>() + batch * rope.x.strides[0] + t * rope.x.strides[1],
                            rope.out.as<T>() + batch * rope.out.strides[0] + t * rope.out.strides[1], mine, function);
        }
    });
}

void rope_on_cpu(const kernels::Rope& rope) {
    visit_float(rope.x.dtype, "rope", [&]<class T>(Type<T>) {
        if constexpr (std::is_same_v<T, double>)
            run<T, double>(rope, &HWY_DYNAMIC_DISPATCH(rope_f64));
        else
            run<T, float>(rope, &HWY_DYNAMIC_DISPATCH(rope_f32));
    });
}

const Fill fill_rope{kernels::rope, DeviceKind::CPU, rope_on_cpu};

}  // namespace
}  // namespace tessera
#endif
