// Elementary functions of whole vectors, shared by the kernels that need them: each takes a Highway tag and a vector.
// Included once per target, after foreach_target.h. Floats are computed here, within about 2e-7 of the value; doubles
// go lane by lane through the standard library, because they only serve as the sharp reference.
// NaN and the infinities give what the standard library gives.
//
// The polynomials interpolate at Chebyshev nodes, with coefficients rounded to float.
#if defined(TESSERA_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TESSERA_VECTOR_MATH_INL_H_
#undef TESSERA_VECTOR_MATH_INL_H_
#else
#define TESSERA_VECTOR_MATH_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE::math {
namespace hn = hwy::HWY_NAMESPACE;

template <class D>
constexpr bool is_double = std::is_same_v<hn::TFromD<D>, double>;

template <class D>
HWY_INLINE hn::Vec<D> constant(D d, double value) {
    return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}

template <class D, class Function>
HWY_INLINE hn::Vec<D> lane_by_lane(D d, hn::Vec<D> x, Function function) {
    HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D{})];
    hn::Store(x, d, lanes);
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = function(lanes[i]);
    return hn::Load(d, lanes);
}

// A comparison with NaN is false, so NaN passes through.
template <class D>
HWY_INLINE hn::Vec<D> at_most(D d, hn::Vec<D> x, double limit) {
    const auto bound = constant(d, limit);
    return hn::IfThenElse(hn::Gt(x, bound), bound, x);
}
template <class D>
HWY_INLINE hn::Vec<D> at_least(D d, hn::Vec<D> x, double limit) {
    const auto bound = constant(d, limit);
    return hn::IfThenElse(hn::Lt(x, bound), bound, x);
}

// x = n·ln 2 + r with |r| ≤ ln 2 / 2: `exponent` is n, `fraction` is e^r − 1, accurate also where it is small.
template <class D>
struct ReducedExp {
    hn::Vec<hn::RebindToSigned<D>> exponent;
    hn::Vec<D> fraction;
};

template <class D>
HWY_INLINE ReducedExp<D> reduced_exp(D d, hn::Vec<D> x) {
    static_assert(std::is_same_v<hn::TFromD<D>, float>);
    const hn::RebindToSigned<D> integer;
    // Adding 1.5·2^23 leaves the nearest integer in the low mantissa bits.
    const auto magic = hn::Set(d, 0x1.8p23f);
    const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
    const auto n = hn::Sub(shifted, magic);
    auto r = hn::NegMulAdd(n, hn::Set(d, 0.693145751953125f), x);  // ln 2 in two parts; n times the first is exact
    r = hn::NegMulAdd(n, hn::Set(d, 1.42860677e-6f), r);
    auto p = hn::MulAdd(hn::Set(d, 0.00139269268f), r, hn::Set(d, 0.00836377405f));
    p = hn::MulAdd(p, r, hn::Set(d, 0.0416665487f));
    p = hn::MulAdd(p, r, hn::Set(d, 0.166665733f));
    p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
    p = hn::MulAdd(p, hn::Mul(r, r), r);
    return {hn::Sub(hn::BitCast(integer, shifted), hn::BitCast(integer, magic)), p};
}

// 2^n as a float, for −126 ≤ n ≤ 127.
template <class D, class VI>
HWY_INLINE hn::Vec<D> power_of_two(D d, VI n) {
    const hn::RebindToSigned<D> integer;
    return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(integer, 127))));
}

// e^x for x ≤ 89. Below −104.5 the result is 0 anyway. Two factors of two halves of the exponent, so that it may leave
// the normal range: results down to the smallest subnormal are right.
template <class D>
HWY_INLINE hn::Vec<D> exp_up_to_89(D d, hn::Vec<D> x) {
    const auto parts = reduced_exp(d, at_least(d, x, -104.5));
    const auto half = hn::ShiftRight<1>(parts.exponent);
    const auto mantissa = hn::Add(hn::Set(d, 1.0f), parts.fraction);
    return hn::Mul(hn::Mul(mantissa, power_of_two(d, half)), power_of_two(d, hn::Sub(parts.exponent, half)));
}

template <class D>
HWY_INLINE hn::Vec<D> exp(D d, hn::Vec<D> x) {
    if constexpr (is_double<D>)
        return lane_by_lane(d, x, [](double value) { return std::exp(value); });
    else
        return exp_up_to_89(d, at_most(d, x, 89.0));  // which is infinite
}

// For x ≤ 0 only, as after the largest value of a row was taken away.
template <class D>
HWY_INLINE hn::Vec<D> exp_of_nonpositive(D d, hn::Vec<D> x) {
    if constexpr (is_double<D>)
        return exp(d, x);
    else
        return exp_up_to_89(d, x);
}

// e^x in fewer instructions: x = n·ln 2 + r and e^x = power · 2^n, with n + offset in the low mantissa bits of
// `shifted`.
template <class D>
struct QuickExp {
    hn::Vec<D> power, shifted;
};

template <class D>
HWY_INLINE QuickExp<D> quick_exp_parts(D d, hn::Vec<D> x, int offset) {
    static_assert(std::is_same_v<hn::TFromD<D>, float>);
    // Adding 1.5·2^23 leaves the nearest integer in the low mantissa bits.
    const auto rounder = hn::Set(d, 0x1.8p23f + static_cast<float>(offset));
    const auto shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), rounder);
    const auto n = hn::Sub(shifted, rounder);
    // The float nearest to ln 2 is 2e-9 off; n times that is below an ulp where the result is not tiny.
    const auto r = hn::NegMulAdd(n, hn::Set(d, 0.693147182f), x);
    // The polynomial of least relative error for |r| ≤ ln 2 / 2 that is 1 at 0, rounded to floats: 1e-7.
    auto p = hn::MulAdd(hn::Set(d, 0.00829028618f), r, hn::Set(d, 0.041898068f));
    p = hn::MulAdd(p, r, hn::Set(d, 0.166676372f));
    p = hn::MulAdd(p, r, hn::Set(d, 0.499991477f));
    p = hn::MulAdd(p, r, hn::Set(d, 0.999999702f));
    return {hn::MulAdd(p, r, hn::Set(d, 1.0f)), shifted};
}

// For x ≤ 0: results below the normal numbers are 0. NaN stays NaN.
template <class D>
HWY_INLINE hn::Vec<D> quick_exp_of_nonpositive(D d, hn::Vec<D> x) {
    if constexpr (is_double<D>) {
        return exp(d, x);
    } else {
        const hn::RebindToSigned<D> integers;
        // At −88 n is −127, and the factor with 0 for an exponent is 0. In this order x86 lets NaN through.
        const auto parts = quick_exp_parts(d, hn::Max(hn::Set(d, -88.0f), x), 127);
        const auto factor = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(integers, parts.shifted)));
        return hn::Mul(parts.power, factor);
    }
}

// For |x| ≤ 87, and not for NaN: n is added to the exponent.
template <class D>
HWY_INLINE hn::Vec<D> quick_exp_of_number(D d, hn::Vec<D> x) {
    if constexpr (is_double<D>) {
        return exp(d, x);
    } else {
        const hn::RebindToSigned<D> integers;
        const auto parts = quick_exp_parts(d, x, 0);
        const auto shift = hn::ShiftLeft<23>(hn::BitCast(integers, parts.shifted));
        return hn::BitCast(d, hn::Add(hn::BitCast(integers, parts.power), shift));
    }
}

// 1 / x for 1 ≤ x ≤ 1e38: an estimate and one Newton step, half the cost of a division, within two units in the last
// place.
template <class D>
HWY_INLINE hn::Vec<D> quick_reciprocal(D d, hn::Vec<D> x) {
    if constexpr (is_double<D>) {
        return hn::Div(hn::Set(d, 1.0), x);
    } else {
        const auto estimate = hn::ApproximateReciprocal(x);
        return hn::Mul(estimate, hn::NegMulAdd(x, estimate, hn::Set(d, 2.0f)));
    }
}

template <class D>
HWY_INLINE hn::Vec<D> log(D d, hn::Vec<D> x) {
    using T = hn::TFromD<D>;
    if constexpr (is_double<D>) {
        return lane_by_lane(d, x, [](double value) { return std::log(value); });
    } else {
        const auto infinity = hn::Set(d, std::numeric_limits<T>::infinity());
        const auto zero = hn::Zero(d);
        const auto finite = hn::Log(d, x);
        const auto positive = hn::IfThenElse(hn::Eq(x, infinity), infinity, finite);
        const auto edge = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::NaN(d));
        return hn::IfThenElse(hn::Gt(x, zero), positive, edge);
    }
}

template <class D>
HWY_INLINE hn::Vec<D> tanh(D d, hn::Vec<D> x) {
    if constexpr (is_double<D>) {
        return lane_by_lane(d, x, [](double value) { return std::tanh(value); });
    } else {
        // tanh |x| = m / (m + 2) with m = e^{2|x|} − 1, which keeps its accuracy near 0 and is 1 from 9.02 on.
        const auto one = hn::Set(d, 1.0f);
        const auto magnitude = at_most(d, hn::Abs(x), 10.0);
        const auto parts = reduced_exp(d, hn::Add(magnitude, magnitude));
        const auto scale = power_of_two(d, parts.exponent);
        const auto m = hn::MulAdd(scale, parts.fraction, hn::Sub(scale, one));
        return hn::CopySign(hn::Div(m, hn::Add(m, hn::Set(d, 2.0f))), x);
    }
}

// 1 − tanh² x = 4m / (1 + m)² with m = e^{−2|x|}: no cancellation where tanh is near ±1.
template <class D>
HWY_INLINE hn::Vec<D> tanh_derivative(D d, hn::Vec<D> x) {
    const auto one = constant(d, 1);
    const auto m = exp_of_nonpositive(d, hn::Mul(hn::Abs(x), constant(d, -2)));
    const auto sum = hn::Add(one, m);
    return hn::Div(hn::Mul(m, constant(d, 4)), hn::Mul(sum, sum));
}

// 1 / (1 + e^{−x}); 0 where that is below the normal numbers. Not for NaN.
template <class D>
HWY_INLINE hn::Vec<D> sigmoid_of_number(D d, hn::Vec<D> x) {
    const auto limit = constant(d, is_double<D> ? 700 : 87);
    const auto m = quick_exp_of_number(d, hn::Neg(hn::Min(x, limit)));
    return hn::IfThenZeroElse(hn::Lt(x, hn::Neg(limit)), quick_reciprocal(d, hn::Add(constant(d, 1), m)));
}
template <class D>
HWY_INLINE hn::Vec<D> sigmoid(D d, hn::Vec<D> x) {
    return hn::IfThenElse(hn::IsNaN(x), x, sigmoid_of_number(d, x));
}
// m / (1 + m)² with m = e^{−|x|}: nothing overflows.
template <class D>
HWY_INLINE hn::Vec<D> sigmoid_derivative(D d, hn::Vec<D> x) {
    const auto m = exp_of_nonpositive(d, hn::Neg(hn::Abs(x)));
    const auto sum = hn::Add(constant(d, 1), m);
    return hn::Div(m, hn::Mul(sum, sum));
}

// e^{−scale·x²} for |x| ≤ 16, relatively accurate far into the tail; `scale` is a power of two.
template <class D>
HWY_INLINE hn::Vec<D> gaussian(D d, hn::Vec<D> x, double scale) {
    if constexpr (is_double<D>) {
        return lane_by_lane(d, x, [scale](double value) { return std::exp(-scale * value * value); });
    } else {
        const auto square = hn::Mul(x, x);
        const auto lost = hn::MulSub(x, x, square);  // what rounding the square left out: e^{−lost} ≈ 1 − lost
        const auto rounded = exp_of_nonpositive(d, hn::Mul(square, constant(d, -scale)));
        return hn::NegMulAdd(rounded, hn::Mul(lost, constant(d, scale)), rounded);
    }
}

// erfc(z) / e^{−z²} for 0 ≤ z ≤ 16: t·P(t) with t = 1 / (1 + z/2). The fit ends at z = 10, where erfc leaves the
// floats.
template <class D>
HWY_INLINE hn::Vec<D> scaled_erfc(D d, hn::Vec<D> z) {
    static_assert(std::is_same_v<hn::TFromD<D>, float>);
    const auto one = hn::Set(d, 1.0f);
    const auto divisor = hn::MulAdd(z, hn::Set(d, 0.5f), one);
    // An estimate and one Newton step: half the cost of a division, and t need not be exact to the last bit.
    const auto estimate = hn::ApproximateReciprocal(divisor);
    const auto t = hn::Mul(estimate, hn::NegMulAdd(divisor, estimate, hn::Set(d, 2.0f)));
    auto p = hn::MulAdd(hn::Set(d, -0.0597149208f), t, hn::Set(d, 0.287768304f));
    p = hn::MulAdd(p, t, hn::Set(d, -0.493863642f));
    p = hn::MulAdd(p, t, hn::Set(d, 0.285697699f));
    p = hn::MulAdd(p, t, hn::Set(d, -0.0318417586f));
    p = hn::MulAdd(p, t, hn::Set(d, 0.204853654f));
    p = hn::MulAdd(p, t, hn::Set(d, 0.242572889f));
    p = hn::MulAdd(p, t, hn::Set(d, 0.282445043f));
    p = hn::MulAdd(p, t, hn::Set(d, 0.282082677f));
    return hn::Mul(t, p);
}

template <class D>
HWY_INLINE hn::Vec<D> erf(D d, hn::Vec<D> x) {
    if constexpr (is_double<D>) {
        return lane_by_lane(d, x, [](double value) { return std::erf(value); });
    } else {
        const auto one = hn::Set(d, 1.0f);
        const auto magnitude = hn::Abs(x);
        const auto square = hn::Mul(x, x);  // below 1 the series in x² keeps the relative accuracy
        auto p = hn::MulAdd(hn::Set(d, -0.000564805989f), square, hn::Set(d, 0.00492176181f));
        p = hn::MulAdd(p, square, hn::Set(d, -0.0267150551f));
        p = hn::MulAdd(p, square, hn::Set(d, 0.112803169f));
        p = hn::MulAdd(p, square, hn::Set(d, -0.376123428f));
        p = hn::MulAdd(p, square, hn::Set(d, 1.12837911f));
        const auto near = at_most(d, magnitude, 16.0);
        const auto far = hn::NegMulAdd(gaussian(d, near, 1.0), scaled_erfc(d, near), one);
        return hn::IfThenElse(hn::Lt(magnitude, one), hn::Mul(x, p), hn::CopySign(far, x));
    }
}

// The standard normal distribution: Φ(x) and its density φ(x).
template <class D>
struct Normal {
    hn::Vec<D> cumulative, density;
};

template <class D>
HWY_INLINE Normal<D> normal(D d, hn::Vec<D> x) {
    const auto magnitude = at_most(d, hn::Abs(x), is_double<D> ? 64.0 : 16.0);  // where both tails are 0
    const auto bell = gaussian(d, magnitude, 0.5);
    const auto density = hn::Mul(bell, constant(d, 0.39894228040143267794));
    if constexpr (is_double<D>) {
        return {lane_by_lane(d, x, [](double value) { return 0.5 * std::erfc(value * -0.70710678118654752440); }),
                density};
    } else {
        const auto z = hn::Mul(magnitude, hn::Set(d, 0.707106781f));
        const auto lower = hn::Mul(hn::Mul(bell, hn::Set(d, 0.5f)), scaled_erfc(d, z));
        return {hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Sub(hn::Set(d, 1.0f), lower), lower), density};
    }
}

// gelu(x) = x·Φ(x)  (Hendrycks and Gimpel 2016)
template <class D>
HWY_INLINE hn::Vec<D> gelu(D d, hn::Vec<D> x) {
    return hn::Mul(x, normal(d, x).cumulative);
}
template <class D>
HWY_INLINE hn::Vec<D> gelu_derivative(D d, hn::Vec<D> x) {
    const Normal<D> parts = normal(d, x);
    return hn::MulAdd(x, parts.density, parts.cumulative);
}

// The argument of the logistic form: ½ (1 + tanh u) = sigmoid(2u) with u = √(2/π) (x + 0.044715 x³).
template <class D>
HWY_INLINE hn::Vec<D> gelu_tanh(D d, hn::Vec<D> x) {
    const auto cubic = hn::MulAdd(constant(d, 0.044715), hn::Mul(x, x), constant(d, 1));
    return hn::Mul(x, sigmoid_of_number(d, hn::Mul(hn::Mul(x, cubic), constant(d, 1.59576912160573071176))));
}
template <class D>
HWY_INLINE hn::Vec<D> gelu_tanh_derivative(D d, hn::Vec<D> x) {
    const auto one = constant(d, 1), factor = constant(d, 1.59576912160573071176), square = hn::Mul(x, x);
    const auto cubic = hn::MulAdd(constant(d, 0.044715), square, one);
    const auto slope = hn::Mul(factor, hn::MulAdd(constant(d, 3 * 0.044715), square, one));
    const auto s = sigmoid_of_number(d, hn::Mul(hn::Mul(x, cubic), factor));
    return hn::MulAdd(hn::Mul(x, slope), hn::Mul(s, hn::Sub(one, s)), s);
}

// silu(x) = x·sigmoid(x)
template <class D>
HWY_INLINE hn::Vec<D> silu(D d, hn::Vec<D> x) {
    return hn::Mul(x, sigmoid_of_number(d, x));
}
template <class D>
HWY_INLINE hn::Vec<D> silu_derivative(D d, hn::Vec<D> x) {
    const auto one = constant(d, 1), s = sigmoid_of_number(d, x);
    return hn::Mul(s, hn::MulAdd(x, hn::Sub(one, s), one));
}

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE::math
HWY_AFTER_NAMESPACE();
#endif
