#include "kernels/binary.h"

#include "kernels/cpu/convert.h"
#include "kernels/cpu/row_loop.h"
#include "kernels/cpu/simd_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/binary.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Add {
    template <class V>
    V operator()(V a, V b) const {
        return hn::Add(a, b);
    }
};
struct Sub {
    template <class V>
    V operator()(V a, V b) const {
        return hn::Sub(a, b);
    }
};
struct Mul {
    template <class V>
    V operator()(V a, V b) const {
        return hn::Mul(a, b);
    }
};
struct Div {
    template <class V>
    V operator()(V a, V b) const {
        return hn::Div(a, b);
    }
};

template <class Op, class T>
void binary_row(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, T* HWY_RESTRICT out, std::int64_t count,
                bool stream) {
    const hn::ScalableTag<T> d;
    const hn::CappedTag<T, 1> one;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const Op op;
    std::int64_t i = 0;
    if (stream) {
        for (; i < count && !is_aligned(out + i); ++i)
            hn::Store(op(hn::LoadU(one, a + i), hn::LoadU(one, b + i)), one, out + i);
        for (; i + lanes <= count; i += lanes) hn::Stream(op(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
    }
    for (; i + lanes <= count; i += lanes) hn::StoreU(op(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
    for (; i < count; ++i) hn::StoreU(op(hn::LoadU(one, a + i), hn::LoadU(one, b + i)), one, out + i);
}

#define TESSERA_BINARY_ROWS(name, Op)                                                                 \
    void name##_f32(const float* a, const float* b, float* out, std::int64_t count, bool stream) {    \
        binary_row<Op>(a, b, out, count, stream);                                                     \
    }                                                                                                 \
    void name##_f64(const double* a, const double* b, double* out, std::int64_t count, bool stream) { \
        binary_row<Op>(a, b, out, count, stream);                                                     \
    }
TESSERA_BINARY_ROWS(add, Add)
TESSERA_BINARY_ROWS(sub, Sub)
TESSERA_BINARY_ROWS(mul, Mul)
TESSERA_BINARY_ROWS(div, Div)
#undef TESSERA_BINARY_ROWS

}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
namespace {

template <class T>
using Row = void(const T* a, const T* b, T* out, std::int64_t count, bool stream);

template <class T, class Compute>
void run_rows(const View& a, const View& b, const View& out, Row<Compute>* row) {
    constexpr std::int64_t chunk = 1024;
    const bool stream = worth_streaming(bytes_of(out.dtype, out.elements()));
    RowLoop<3>({&a, &b, &out}).parallel([&](const Run<3>& run) {
        const auto* left = reinterpret_cast<const T*>(run.data[0]);
        const auto* right = reinterpret_cast<const T*>(run.data[1]);
        auto* result = reinterpret_cast<T*>(run.data[2]);
        if constexpr (std::is_same_v<T, Compute>) {
            if (run.strides == std::array<std::int64_t, 3>{1, 1, 1})
                return row(left, right, result, run.length, stream);
        }
        Compute left_buffer[chunk], right_buffer[chunk], out_buffer[chunk];
        for (std::int64_t i = 0; i < run.length; i += chunk) {
            const std::int64_t n = std::min(chunk, run.length - i);
            const Compute* x = load_row(left + i * run.strides[0], run.strides[0], n, left_buffer);
            const Compute* y = load_row(right + i * run.strides[1], run.strides[1], n, right_buffer);
            T* home = result + i * run.strides[2];
            Compute* z = result_row(home, run.strides[2], out_buffer);
            row(x, y, z, n, false);
            store_row(z, home, run.strides[2], n);
        }
    });
}

template <class T, class Operation>
void run_integers(const View& a, const View& b, const View& out, Operation operation) {
    RowLoop<3>({&a, &b, &out}).parallel([&](const Run<3>& run) {
        for (std::int64_t i = 0; i < run.length; ++i)
            reinterpret_cast<T*>(run.data[2])[i * run.strides[2]] =
                operation(reinterpret_cast<const T*>(run.data[0])[i * run.strides[0]],
                          reinterpret_cast<const T*>(run.data[1])[i * run.strides[1]]);
    });
}

template <class Operation>
void binary(const char* name, const View& a, const View& b, const View& out, Row<float>* f32, Row<double>* f64,
            Operation integer_operation) {
    if (!is_float(out.dtype))
        return visit_index(out.dtype, name, [&]<class T>(Type<T>) { run_integers<T>(a, b, out, integer_operation); });
    visit_float(out.dtype, name, [&]<class T>(Type<T>) {
        if constexpr (std::is_same_v<T, double>)
            run_rows<double>(a, b, out, f64);
        else
            run_rows<T>(a, b, out, f32);
    });
}

#define TESSERA_BINARY_KERNEL(name, integer_operation)                                                 \
    HWY_EXPORT(name##_f32);                                                                            \
    HWY_EXPORT(name##_f64);                                                                            \
    void name##_on_cpu(const View& a, const View& b, const View& out) {                                \
        binary(#name, a, b, out, &HWY_DYNAMIC_DISPATCH(name##_f32), &HWY_DYNAMIC_DISPATCH(name##_f64), \
               integer_operation);                                                                     \
    }                                                                                                  \
    const Fill fill_##name{kernels::name, DeviceKind::CPU, name##_on_cpu};
TESSERA_BINARY_KERNEL(add, [](auto x, auto y) { return x + y; })
TESSERA_BINARY_KERNEL(sub, [](auto x, auto y) { return x - y; })
TESSERA_BINARY_KERNEL(mul, [](auto x, auto y) { return x * y; })
TESSERA_BINARY_KERNEL(div, [](auto x, auto y) { return y == 0 ? decltype(x)(0) : x / y; })
#undef TESSERA_BINARY_KERNEL

}  // namespace
}  // namespace tessera
#endif
