#include "tessera/kernels/unary.h"

#include "tessera/kernels/cpu/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/unary.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "tessera/kernels/cpu/row_math-inl.h"
#include "tessera/kernels/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {

// Forward: a function of x.
struct Negate {
    template <class D, class V>
    HWY_INLINE V operator()(D, V x) const {
        return hn::Neg(x);
    }
};
struct Exp {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        return math::exp(d, x);
    }
};
struct Log {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        return math::log(d, x);
    }
};
struct Sqrt {
    template <class D, class V>
    HWY_INLINE V operator()(D, V x) const {
        return hn::Sqrt(x);
    }
};
struct Rsqrt {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        return hn::Div(math::constant(d, 1), hn::Sqrt(x));
    }
};
struct Tanh {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        return math::tanh(d, x);
    }
};
struct Sigmoid {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        return math::sigmoid(d, x);
    }
};
struct Relu {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        return math::at_least(d, x, 0);
    }
};
struct Gelu {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        return math::gelu(d, x);
    }
};
struct GeluTanh {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        return math::gelu_tanh(d, x);
    }
};
struct Silu {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x) const {
        return math::silu(d, x);
    }
};

// Backward: what was saved, and the gradient of y.
struct ExpBackward {
    template <class D, class V>
    HWY_INLINE V operator()(D, V y, V gradient) const {
        return hn::Mul(gradient, y);
    }
};
struct LogBackward {
    template <class D, class V>
    HWY_INLINE V operator()(D, V x, V gradient) const {
        return hn::Div(gradient, x);
    }
};
struct SqrtBackward {
    template <class D, class V>
    HWY_INLINE V operator()(D, V y, V gradient) const {
        return hn::Div(gradient, hn::Add(y, y));
    }
};
struct RsqrtBackward {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V y, V gradient) const {
        return hn::Mul(hn::Mul(gradient, math::constant(d, -0.5)), hn::Mul(y, hn::Mul(y, y)));
    }
};
struct TanhBackward {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x, V gradient) const {
        return hn::Mul(gradient, math::tanh_derivative(d, x));
    }
};
struct SigmoidBackward {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x, V gradient) const {
        return hn::Mul(gradient, math::sigmoid_derivative(d, x));
    }
};
struct ReluBackward {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V y, V gradient) const {
        return hn::IfThenElseZero(hn::Gt(y, hn::Zero(d)), gradient);
    }
};
struct GeluBackward {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x, V gradient) const {
        return hn::Mul(gradient, math::gelu_derivative(d, x));
    }
};
struct GeluTanhBackward {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x, V gradient) const {
        return hn::Mul(gradient, math::gelu_tanh_derivative(d, x));
    }
};
struct SiluBackward {
    template <class D, class V>
    HWY_INLINE V operator()(D d, V x, V gradient) const {
        return hn::Mul(gradient, math::silu_derivative(d, x));
    }
};

template <class T>
using Inputs1 = InputRows<T, 1>;
template <class T>
using Inputs2 = InputRows<T, 2>;

template <class T>
HWY_INLINE void soft_cap_row(T cap, const Inputs1<T>& in, T* out, std::int64_t count, bool stream) {
    row::map(
        count, stream, out,
        [cap]<class D, class V>(D d, V x) HWY_ATTR {
            const V limit = hn::Set(d, cap);
            return hn::Mul(limit, math::tanh(d, hn::Div(x, limit)));
        },
        in[0]);
}
template <class T>
HWY_INLINE void soft_cap_backward_row(T cap, const Inputs2<T>& in, T* out, std::int64_t count, bool stream) {
    row::map(
        count, stream, out,
        [cap]<class D, class V>(D d, V x, V gradient)
            HWY_ATTR { return hn::Mul(gradient, math::tanh_derivative(d, hn::Div(x, hn::Set(d, cap)))); },
        in[0], in[1]);
}

void soft_cap_f32(float cap, const Inputs1<float>& in, float* out, std::int64_t count, bool stream) {
    soft_cap_row(cap, in, out, count, stream);
}
void soft_cap_f64(double cap, const Inputs1<double>& in, double* out, std::int64_t count, bool stream) {
    soft_cap_row(cap, in, out, count, stream);
}
void soft_cap_backward_f32(float cap, const Inputs2<float>& in, float* out, std::int64_t count, bool stream) {
    soft_cap_backward_row(cap, in, out, count, stream);
}
void soft_cap_backward_f64(double cap, const Inputs2<double>& in, double* out, std::int64_t count, bool stream) {
    soft_cap_backward_row(cap, in, out, count, stream);
}

#define TESSERA_UNARY_ROWS(name, Op)                                                           \
    void name##_f32(const Inputs1<float>& in, float* out, std::int64_t count, bool stream) {   \
        row::map(count, stream, out, Op{}, in[0]);                                             \
    }                                                                                          \
    void name##_f64(const Inputs1<double>& in, double* out, std::int64_t count, bool stream) { \
        row::map(count, stream, out, Op{}, in[0]);                                             \
    }
#define TESSERA_BACKWARD_ROWS(name, Op)                                                                 \
    void name##_backward_f32(const Inputs2<float>& in, float* out, std::int64_t count, bool stream) {   \
        row::map(count, stream, out, Op{}, in[0], in[1]);                                               \
    }                                                                                                   \
    void name##_backward_f64(const Inputs2<double>& in, double* out, std::int64_t count, bool stream) { \
        row::map(count, stream, out, Op{}, in[0], in[1]);                                               \
    }
TESSERA_UNARY_ROWS(neg, Negate)
TESSERA_UNARY_ROWS(exp, Exp)
TESSERA_UNARY_ROWS(log, Log)
TESSERA_UNARY_ROWS(sqrt, Sqrt)
TESSERA_UNARY_ROWS(rsqrt, Rsqrt)
TESSERA_UNARY_ROWS(tanh, Tanh)
TESSERA_UNARY_ROWS(sigmoid, Sigmoid)
TESSERA_UNARY_ROWS(relu, Relu)
TESSERA_UNARY_ROWS(gelu, Gelu)
TESSERA_UNARY_ROWS(gelu_tanh, GeluTanh)
TESSERA_UNARY_ROWS(silu, Silu)
TESSERA_BACKWARD_ROWS(exp, ExpBackward)
TESSERA_BACKWARD_ROWS(log, LogBackward)
TESSERA_BACKWARD_ROWS(sqrt, SqrtBackward)
TESSERA_BACKWARD_ROWS(rsqrt, RsqrtBackward)
TESSERA_BACKWARD_ROWS(tanh, TanhBackward)
TESSERA_BACKWARD_ROWS(sigmoid, SigmoidBackward)
TESSERA_BACKWARD_ROWS(relu, ReluBackward)
TESSERA_BACKWARD_ROWS(gelu, GeluBackward)
TESSERA_BACKWARD_ROWS(gelu_tanh, GeluTanhBackward)
TESSERA_BACKWARD_ROWS(silu, SiluBackward)
#undef TESSERA_UNARY_ROWS
#undef TESSERA_BACKWARD_ROWS

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

HWY_EXPORT(soft_cap_f32);
HWY_EXPORT(soft_cap_f64);
HWY_EXPORT(soft_cap_backward_f32);
HWY_EXPORT(soft_cap_backward_f64);

void soft_cap_on_cpu(double cap, const View& x, const View& y) {
    auto* f32 = &HWY_DYNAMIC_DISPATCH(soft_cap_f32);
    auto* f64 = &HWY_DYNAMIC_DISPATCH(soft_cap_f64);
    run_elementwise<1>(
        "soft_cap", {&x}, y, [=](const auto&... row) { f32(static_cast<float>(cap), row...); },
        [=](const auto&... row) { f64(cap, row...); });
}
void soft_cap_backward_on_cpu(double cap, const View& x, const View& y_gradient, const View& x_gradient) {
    auto* f32 = &HWY_DYNAMIC_DISPATCH(soft_cap_backward_f32);
    auto* f64 = &HWY_DYNAMIC_DISPATCH(soft_cap_backward_f64);
    run_elementwise<2>(
        "soft_cap_backward", {&x, &y_gradient}, x_gradient,
        [=](const auto&... row) { f32(static_cast<float>(cap), row...); },
        [=](const auto&... row) { f64(cap, row...); });
}
const RegisterKernel register_soft_cap{kernels::soft_cap, DeviceKind::CPU, soft_cap_on_cpu};
const RegisterKernel register_soft_cap_backward{kernels::soft_cap_backward, DeviceKind::CPU, soft_cap_backward_on_cpu};

#define TESSERA_UNARY_KERNEL(name)                                                                              \
    HWY_EXPORT(name##_f32);                                                                                     \
    HWY_EXPORT(name##_f64);                                                                                     \
    void name##_on_cpu(const View& x, const View& y) {                                                          \
        run_elementwise<1>(#name, {&x}, y, HWY_DYNAMIC_DISPATCH(name##_f32), HWY_DYNAMIC_DISPATCH(name##_f64)); \
    }                                                                                                           \
    const RegisterKernel fill_##name{kernels::name, DeviceKind::CPU, name##_on_cpu};
#define TESSERA_BACKWARD_KERNEL(name)                                                                  \
    HWY_EXPORT(name##_f32);                                                                            \
    HWY_EXPORT(name##_f64);                                                                            \
    void name##_on_cpu(const View& saved, const View& y_gradient, const View& x_gradient) {            \
        run_elementwise<2>(#name, {&saved, &y_gradient}, x_gradient, HWY_DYNAMIC_DISPATCH(name##_f32), \
                           HWY_DYNAMIC_DISPATCH(name##_f64));                                          \
    }                                                                                                  \
    const RegisterKernel fill_##name{kernels::name, DeviceKind::CPU, name##_on_cpu};
TESSERA_UNARY_KERNEL(neg)
TESSERA_UNARY_KERNEL(exp)
TESSERA_UNARY_KERNEL(log)
TESSERA_UNARY_KERNEL(sqrt)
TESSERA_UNARY_KERNEL(rsqrt)
TESSERA_UNARY_KERNEL(tanh)
TESSERA_UNARY_KERNEL(sigmoid)
TESSERA_UNARY_KERNEL(relu)
TESSERA_UNARY_KERNEL(gelu)
TESSERA_UNARY_KERNEL(gelu_tanh)
TESSERA_UNARY_KERNEL(silu)
TESSERA_BACKWARD_KERNEL(exp_backward)
TESSERA_BACKWARD_KERNEL(log_backward)
TESSERA_BACKWARD_KERNEL(sqrt_backward)
TESSERA_BACKWARD_KERNEL(rsqrt_backward)
TESSERA_BACKWARD_KERNEL(tanh_backward)
TESSERA_BACKWARD_KERNEL(sigmoid_backward)
TESSERA_BACKWARD_KERNEL(relu_backward)
TESSERA_BACKWARD_KERNEL(gelu_backward)
TESSERA_BACKWARD_KERNEL(gelu_tanh_backward)
TESSERA_BACKWARD_KERNEL(silu_backward)
#undef TESSERA_UNARY_KERNEL
#undef TESSERA_BACKWARD_KERNEL

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
