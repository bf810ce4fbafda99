// Runs a row function over float views of one shape, whatever their strides and dtype: rows that already lie as the
// function wants them go in as they are, the others pass through small buffers in the compute type.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

#include "tessera/kernels/cpu/convert.h"
#include "tessera/kernels/cpu/row_loop.h"
#include "tessera/kernels/cpu/simd_store.h"

namespace tessera::kernels::cpu {

template <class Compute, int Inputs>
using InputRows = std::array<const Compute*, Inputs>;

// row(InputRows<Compute, Inputs> in, Compute* out, count, stream): stream asks for stores past the caches.
template <class T, int Inputs, class Row>
void run_elementwise(const std::array<const View*, Inputs>& inputs, const View& out, const Row& row) {
    using Compute = compute_t<T>;
    constexpr std::int64_t chunk = 1024;
    const bool large = std::is_same_v<T, Compute> && worth_streaming(bytes_of(out.dtype, out.elements()));
    std::array<const View*, Inputs + 1> views;
    std::copy(inputs.begin(), inputs.end(), views.begin());
    views[Inputs] = &out;
    RowLoop<Inputs + 1>(views).parallel([&](const Run<Inputs + 1>& run) {
        const std::int64_t out_stride = run.strides[Inputs];
        auto* home = reinterpret_cast<T*>(run.data[Inputs]);
        const bool stream =
            large && out_stride == 1 && worth_streaming_run(run.length * static_cast<std::int64_t>(sizeof(T)));
        InputRows<Compute, Inputs> in;
        if constexpr (std::is_same_v<T, Compute>) {
            if (std::all_of(run.strides.begin(), run.strides.end(), [](std::int64_t s) { return s == 1; })) {
                for (int n = 0; n < Inputs; ++n) in[n] = reinterpret_cast<const T*>(run.data[n]);
                row(in, home, run.length, stream);
                if (stream) finish_streaming();
                return;
            }
        }
        Compute buffers[Inputs + 1][chunk];
        for (std::int64_t i = 0; i < run.length; i += chunk) {
            const std::int64_t count = std::min(chunk, run.length - i);
            for (int n = 0; n < Inputs; ++n) {
                const auto* from = reinterpret_cast<const T*>(run.data[n]);
                const std::int64_t stride = run.strides[n];
                if (stride != 0 || i == 0) in[n] = load_row(from + i * stride, stride, count, buffers[n]);
            }
            T* target = home + i * out_stride;
            Compute* result = result_row(target, out_stride, buffers[Inputs]);
            row(in, result, count, stream);
            store_row(result, target, out_stride, count);
        }
        if (stream) finish_streaming();
    });
}

// The same with the dtype looked up: `f32` also serves the 16-bit formats.
template <int Inputs, class Row32, class Row64>
void run_elementwise(const char* name, const std::array<const View*, Inputs>& inputs, const View& out, const Row32& f32,
                     const Row64& f64) {
    for (const View* input : inputs)
        check(input->dtype == out.dtype, name, ": kernel views differ in dtype: ", input->dtype, " and ", out.dtype);
    visit_float(out.dtype, name, [&]<class T>(Type<T>) {
        if constexpr (std::is_same_v<T, double>)
            run_elementwise<T, Inputs>(inputs, out, f64);
        else
            run_elementwise<T, Inputs>(inputs, out, f32);
    });
}

}  // namespace tessera::kernels::cpu
