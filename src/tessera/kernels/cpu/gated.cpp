#include "tessera/kernels/gated.h"

#include "tessera/kernels/cpu/convert.h"
#include "tessera/kernels/cpu/row_loop.h"
#include "tessera/kernels/cpu/simd_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/gated.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "tessera/kernels/cpu/row_math-inl.h"
#include "tessera/kernels/cpu/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace {

struct Silu {
    template <class D, class V>
    static HWY_INLINE V value(D d, V x) {
        return math::silu(d, x);
    }
    template <class D, class V>
    static HWY_INLINE V derivative(D d, V x) {
        return math::silu_derivative(d, x);
    }
};
struct Gelu {
    template <class D, class V>
    static HWY_INLINE V value(D d, V x) {
        return math::gelu(d, x);
    }
    template <class D, class V>
    static HWY_INLINE V derivative(D d, V x) {
        return math::gelu_derivative(d, x);
    }
};
struct GeluTanh {
    template <class D, class V>
    static HWY_INLINE V value(D d, V x) {
        return math::gelu_tanh(d, x);
    }
    template <class D, class V>
    static HWY_INLINE V derivative(D d, V x) {
        return math::gelu_tanh_derivative(d, x);
    }
};

template <class Activation, class T>
void gated_row(const T* gate, const T* up, T* out, std::int64_t length, bool stream) {
    const row::Tag<T> d;
    row::walk<T>(length, stream, out,
                 [&](auto at) HWY_ATTR { at.write(hn::Mul(Activation::value(d, at.load(gate)), at.load(up)), out); });
}

template <class Activation, class T>
void gated_backward_row(const T* gate, const T* up, const T* dout, T* dgate, T* dup, std::int64_t length, bool stream) {
    const row::Tag<T> d;
    row::walk<T>(length, stream, dgate, [&](auto at) HWY_ATTR {
        const auto x = at.load(gate), gradient = at.load(dout);
        at.write(hn::Mul(hn::Mul(gradient, at.load(up)), Activation::derivative(d, x)), dgate);
        at.write(hn::Mul(gradient, Activation::value(d, x)), dup);
    });
}

#define TESSERA_GATED_ROWS(name, Activation, suffix, T)                                                             \
    void name##_##suffix(const T* gate, const T* up, T* out, std::int64_t length, bool stream) {                    \
        gated_row<Activation>(gate, up, out, length, stream);                                                       \
    }                                                                                                               \
    void name##_backward_##suffix(const T* gate, const T* up, const T* dout, T* dgate, T* dup, std::int64_t length, \
                                  bool stream) {                                                                    \
        gated_backward_row<Activation>(gate, up, dout, dgate, dup, length, stream);                                 \
    }
TESSERA_GATED_ROWS(swiglu, Silu, f32, float)
TESSERA_GATED_ROWS(swiglu, Silu, f64, double)
TESSERA_GATED_ROWS(geglu, Gelu, f32, float)
TESSERA_GATED_ROWS(geglu, Gelu, f64, double)
TESSERA_GATED_ROWS(geglu_tanh, GeluTanh, f32, float)
TESSERA_GATED_ROWS(geglu_tanh, GeluTanh, f64, double)
#undef TESSERA_GATED_ROWS

}  // namespace
}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

template <class T>
using Row = void(const T* gate, const T* up, T* out, std::int64_t length, bool stream);
template <class T>
using BackwardRow = void(const T* gate, const T* up, const T* dout, T* dgate, T* dup, std::int64_t length, bool stream);

constexpr std::int64_t chunk = 1024;

std::uintptr_t past_line(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 64; }

template <std::size_t n>
bool all_ones(const std::array<std::int64_t, n>& strides) {
    return std::all_of(strides.begin(), strides.end(), [](std::int64_t stride) { return stride == 1; });
}

template <class T, class Compute>
void run_forward(const View& gate, const View& up, const View& out, Row<Compute>* row) {
    const bool stream = worth_streaming(bytes_of(out.dtype, out.elements()));
    RowLoop<3>({&gate, &up, &out}).parallel([&](const Run<3>& run) {
        const auto* x = reinterpret_cast<const T*>(run.data[0]);
        const auto* y = reinterpret_cast<const T*>(run.data[1]);
        auto* z = reinterpret_cast<T*>(run.data[2]);
        if constexpr (std::is_same_v<T, Compute>) {
            if (all_ones(run.strides)) return row(x, y, z, run.length, stream);
        }
        Compute gate_buffer[chunk], up_buffer[chunk], out_buffer[chunk];
        for (std::int64_t i = 0; i < run.length; i += chunk) {
            const std::int64_t n = std::min(chunk, run.length - i);
            const Compute* gates = load_row(x + i * run.strides[0], run.strides[0], n, gate_buffer);
            const Compute* ups = load_row(y + i * run.strides[1], run.strides[1], n, up_buffer);
            row(gates, ups, out_buffer, n, false);
            store_row(out_buffer, z + i * run.strides[2], run.strides[2], n);
        }
    });
}

template <class T, class Compute>
void run_backward(const std::array<const View*, 5>& views, BackwardRow<Compute>* row) {
    const bool stream = worth_streaming(bytes_of(views[3]->dtype, views[3]->elements()));
    RowLoop<5>(views).parallel([&](const Run<5>& run) {
        std::array<T*, 5> rows;
        for (std::size_t k = 0; k < 5; ++k) rows[k] = reinterpret_cast<T*>(run.data[k]);
        if constexpr (std::is_same_v<T, Compute>) {
            // Both results are streamed in step, so they must lie alike in their cache lines.
            const bool alike = past_line(rows[3]) == past_line(rows[4]);
            if (all_ones(run.strides))
                return row(rows[0], rows[1], rows[2], rows[3], rows[4], run.length, stream && alike);
        }
        Compute buffers[5][chunk];
        for (std::int64_t i = 0; i < run.length; i += chunk) {
            const std::int64_t n = std::min(chunk, run.length - i);
            std::array<const Compute*, 3> in;
            for (std::size_t k = 0; k < 3; ++k)
                in[k] = load_row(rows[k] + i * run.strides[k], run.strides[k], n, buffers[k]);
            row(in[0], in[1], in[2], buffers[3], buffers[4], n, false);
            for (std::size_t k = 3; k < 5; ++k) store_row(buffers[k], rows[k] + i * run.strides[k], run.strides[k], n);
        }
    });
}

#define TESSERA_GATED_KERNELS(name)                                                                                    \
    HWY_EXPORT(name##_f32);                                                                                            \
    HWY_EXPORT(name##_f64);                                                                                            \
    HWY_EXPORT(name##_backward_f32);                                                                                   \
    HWY_EXPORT(name##_backward_f64);                                                                                   \
    void name##_on_cpu(const View& gate, const View& up, const View& out) {                                            \
        visit_float(out.dtype, #name, [&]<class T>(Type<T>) {                                                          \
            if constexpr (std::is_same_v<T, double>)                                                                   \
                run_forward<T, double>(gate, up, out, &HWY_DYNAMIC_DISPATCH(name##_f64));                              \
            else                                                                                                       \
                run_forward<T, float>(gate, up, out, &HWY_DYNAMIC_DISPATCH(name##_f32));                               \
        });                                                                                                            \
    }                                                                                                                  \
    void name##_backward_on_cpu(const View& gate, const View& up, const View& dout, const View& dgate,                 \
                                const View& dup) {                                                                     \
        visit_float(dout.dtype, #name "_backward", [&]<class T>(Type<T>) {                                             \
            if constexpr (std::is_same_v<T, double>)                                                                   \
                run_backward<T, double>({&gate, &up, &dout, &dgate, &dup},                                             \
                                        &HWY_DYNAMIC_DISPATCH(name##_backward_f64));                                   \
            else                                                                                                       \
                run_backward<T, float>({&gate, &up, &dout, &dgate, &dup}, &HWY_DYNAMIC_DISPATCH(name##_backward_f32)); \
        });                                                                                                            \
    }                                                                                                                  \
    const RegisterKernel fill_##name{kernels::name, DeviceKind::CPU, name##_on_cpu};                                   \
    const RegisterKernel fill_##name##_backward{kernels::name##_backward, DeviceKind::CPU, name##_backward_on_cpu};
TESSERA_GATED_KERNELS(swiglu)
TESSERA_GATED_KERNELS(geglu)
TESSERA_GATED_KERNELS(geglu_tanh)
#undef TESSERA_GATED_KERNELS

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
