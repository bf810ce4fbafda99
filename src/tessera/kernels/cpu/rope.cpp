// Rotary embedding. Sines and cosines are computed once per position, in double precision, and used for all its heads.
#include "tessera/kernels/rope.h"

#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/convert.h"
#include "tessera/kernels/cpu/rows.h"
#include "tessera/kernels/cpu/simd_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/rope.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "tessera/kernels/cpu/row_math-inl.h"

#ifndef TESSERA_ROPE_HEADS
#define TESSERA_ROPE_HEADS
namespace tessera::kernels::cpu {
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

template <class T>
struct RopeTables {
    const float* inverse_frequencies = nullptr;
    std::int64_t pairs = 0;
    double magnitude = 1, sine_factor = 1;
    bool adjacent = false;
    T* sines = nullptr;
    T* cosines = nullptr;
};

}  // namespace
}  // namespace tessera::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
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

// The tables of one position, as RopeHeads wants them. They have room for a whole vector past their end.
template <class T>
void fill_tables(const RopeTables<T>& tables, float position) {
    const row::Tag<double> d;
    const hn::Rebind<float, row::Tag<double>> floats;
    const hn::Rebind<T, row::Tag<double>> results;
    const auto lanes = row::lanes_of<double>();
    const auto magnitude = row::set(tables.magnitude), sine_factor = row::set(tables.sine_factor);
    for (std::int64_t i = 0; i < tables.pairs; i += lanes) {
        const auto present = hn::FirstN(floats, static_cast<std::size_t>(tables.pairs - i));
        const auto frequency = hn::MaskedLoad(present, floats, tables.inverse_frequencies + i);
        Doubles sine, cosine;
        sine_and_cosine(hn::PromoteTo(d, hn::Mul(frequency, hn::Set(floats, position))), sine, cosine);
        hn::Vec<decltype(results)> s, c;
        if constexpr (std::is_same_v<T, double>) {
            s = hn::Mul(sine, sine_factor);
            c = hn::Mul(cosine, magnitude);
        } else {
            s = hn::DemoteTo(results, hn::Mul(sine, sine_factor));
            c = hn::DemoteTo(results, hn::Mul(cosine, magnitude));
        }
        if (tables.adjacent) {
            hn::StoreInterleaved2(hn::Neg(s), s, results, tables.sines + 2 * i);
            hn::StoreInterleaved2(c, c, results, tables.cosines + 2 * i);
        } else {
            hn::StoreU(s, results, tables.sines + i);
            hn::StoreU(c, results, tables.cosines + i);
        }
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

void fill_tables_f32(const RopeTables<float>& tables, float position) { fill_tables(tables, position); }
void fill_tables_f64(const RopeTables<double>& tables, float position) { fill_tables(tables, position); }
void rope_f32(const RopeHeads<float>& r) { rope_heads(r); }
void rope_f64(const RopeHeads<double>& r) { rope_heads(r); }

}  // namespace
}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

HWY_EXPORT(fill_tables_f32);
HWY_EXPORT(fill_tables_f64);
HWY_EXPORT(rope_f32);
HWY_EXPORT(rope_f64);

template <class T>
struct Functions {
    void (*fill_tables)(const RopeTables<T>&, float position);
    void (*rotate)(const RopeHeads<T>&);
};

template <class T, class Compute>
void rotate_position(const kernels::Rope& rope, const T* x, T* out, RopeHeads<Compute> heads,
                     const std::array<Compute*, 2>& buffers, const Functions<Compute>& functions) {
    const std::int64_t count = rope.x.shape[2], x_step = rope.x.strides[3], out_step = rope.out.strides[3];
    if constexpr (std::is_same_v<T, Compute>) {
        if (x_step == 1 && out_step == 1) {
            heads.x = x;
            heads.out = out;
            heads.heads = count;
            heads.x_stride = rope.x.strides[2];
            heads.out_stride = rope.out.strides[2];
            return functions.rotate(heads);
        }
    }
    heads.stream = false;
    heads.out = buffers[1];
    for (std::int64_t head = 0; head < count; ++head) {
        heads.x = load_row<Compute>(x + head * rope.x.strides[2], x_step, heads.width, buffers[0]);
        functions.rotate(heads);
        store_row<Compute>(heads.out, out + head * rope.out.strides[2], out_step, heads.width);
    }
}

template <class T, class Compute>
void run(const kernels::Rope& rope, const Functions<Compute>& functions) {
    const std::int64_t time = rope.x.shape[1], width = rope.x.shape[3], pairs = rope.inverse_frequencies.elements();
    RopeTables<Compute> tables;
    tables.inverse_frequencies = rope.inverse_frequencies.as<float>();
    tables.pairs = pairs;
    tables.magnitude = rope.magnitude;
    tables.sine_factor = rope.inverse ? -rope.magnitude : rope.magnitude;
    tables.adjacent = rope.adjacent;
    RopeHeads<Compute> heads;
    heads.pairs = pairs;
    heads.width = width;
    heads.adjacent = rope.adjacent;
    // Both halves are written in step, so they must lie alike in their cache lines.
    const bool aligns = rope.adjacent || pairs * static_cast<std::int64_t>(sizeof(T)) % 64 == 0;
    heads.stream = aligns && worth_streaming(bytes_of(rope.out.dtype, rope.out.elements()));
    const std::int64_t grain = rows_per_piece(rope.x.shape[2] * width);
    parallel_for(rope.x.shape[0] * time, grain, [=, &rope, &functions](std::int64_t begin, std::int64_t end) {
        const auto [x_buffer, out_buffer, sines, cosines] = thread_buffers<4, Compute>(width + 64);
        RopeTables<Compute> my_tables = tables;
        RopeHeads<Compute> my_heads = heads;
        my_heads.sines = my_tables.sines = sines;
        my_heads.cosines = my_tables.cosines = cosines;
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t batch = i / time, t = i % time;
            const auto offset_in = [=](const View& view) { return batch * view.strides[0] + t * view.strides[1]; };
            const std::int64_t position = rope.positions.as<std::int64_t>()[offset_in(rope.positions)];
            functions.fill_tables(my_tables, static_cast<float>(position));
            rotate_position(rope, rope.x.as<T>() + offset_in(rope.x), rope.out.as<T>() + offset_in(rope.out), my_heads,
                            {x_buffer, out_buffer}, functions);
        }
    });
}

void rope_on_cpu(const kernels::Rope& rope) {
    visit_float(rope.x.dtype, "rope", [&]<class T>(Type<T>) {
        if constexpr (std::is_same_v<T, double>)
            run<T, double>(rope, {&HWY_DYNAMIC_DISPATCH(fill_tables_f64), &HWY_DYNAMIC_DISPATCH(rope_f64)});
        else
            run<T, float>(rope, {&HWY_DYNAMIC_DISPATCH(fill_tables_f32), &HWY_DYNAMIC_DISPATCH(rope_f32)});
    });
}

const RegisterKernel register_rope{kernels::rope, DeviceKind::CPU, rope_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
