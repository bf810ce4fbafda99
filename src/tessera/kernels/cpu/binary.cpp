#include "tessera/kernels/binary.h"

#include "tessera/kernels/cpu/elementwise.h"
#include "tessera/kernels/cpu/row_loop.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/binary.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "tessera/kernels/cpu/row_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {

struct Add {
    template <class D, class V>
    HWY_INLINE V operator()(D, V a, V b) const {
        return hn::Add(a, b);
    }
};
struct Sub {
    template <class D, class V>
    HWY_INLINE V operator()(D, V a, V b) const {
        return hn::Sub(a, b);
    }
};
struct Mul {
    template <class D, class V>
    HWY_INLINE V operator()(D, V a, V b) const {
        return hn::Mul(a, b);
    }
};
struct Div {
    template <class D, class V>
    HWY_INLINE V operator()(D, V a, V b) const {
        return hn::Div(a, b);
    }
};

#define TESSERA_BINARY_ROWS(name, Op)                                                               \
    void name##_f32(const InputRows<float, 2>& in, float* out, std::int64_t count, bool stream) {   \
        row::map(count, stream, out, Op{}, in[0], in[1]);                                           \
    }                                                                                               \
    void name##_f64(const InputRows<double, 2>& in, double* out, std::int64_t count, bool stream) { \
        row::map(count, stream, out, Op{}, in[0], in[1]);                                           \
    }
TESSERA_BINARY_ROWS(add, Add)
TESSERA_BINARY_ROWS(sub, Sub)
TESSERA_BINARY_ROWS(mul, Mul)
TESSERA_BINARY_ROWS(div, Div)
#undef TESSERA_BINARY_ROWS

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

template <class T, class Operation>
void run_integers(const View& a, const View& b, const View& out, Operation operation) {
    RowLoop<3>({&a, &b, &out}).parallel([&](const Run<3>& run) {
        for (std::int64_t i = 0; i < run.length; ++i)
            reinterpret_cast<T*>(run.data[2])[i * run.strides[2]] =
                operation(reinterpret_cast<const T*>(run.data[0])[i * run.strides[0]],
                          reinterpret_cast<const T*>(run.data[1])[i * run.strides[1]]);
    });
}

#define TESSERA_BINARY_KERNEL(name, integer_operation)                                                           \
    HWY_EXPORT(name##_f32);                                                                                      \
    HWY_EXPORT(name##_f64);                                                                                      \
    void name##_on_cpu(const View& a, const View& b, const View& out) {                                          \
        if (is_float(out.dtype))                                                                                 \
            return run_elementwise<2>(#name, {&a, &b}, out, HWY_DYNAMIC_DISPATCH(name##_f32),                    \
                                      HWY_DYNAMIC_DISPATCH(name##_f64));                                         \
        visit_index(out.dtype, #name, [&]<class T>(Type<T>) { run_integers<T>(a, b, out, integer_operation); }); \
    }                                                                                                            \
    const RegisterKernel fill_##name{kernels::name, DeviceKind::CPU, name##_on_cpu};
TESSERA_BINARY_KERNEL(add, [](auto x, auto y) { return x + y; })
TESSERA_BINARY_KERNEL(sub, [](auto x, auto y) { return x - y; })
TESSERA_BINARY_KERNEL(mul, [](auto x, auto y) { return x * y; })
TESSERA_BINARY_KERNEL(div, [](auto x, auto y) { return y == 0 ? decltype(x)(0) : x / y; })
#undef TESSERA_BINARY_KERNEL

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
