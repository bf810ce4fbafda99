#include "tessera/kernels/memory.h"

#include <algorithm>
#include <cstring>

#include "tessera/kernels/cpu/convert.h"
#include "tessera/kernels/cpu/quantised_rows.h"
#include "tessera/kernels/cpu/row_loop.h"
#include "tessera/kernels/cpu/simd_store.h"

namespace tessera::kernels::cpu {
namespace {

constexpr std::int64_t chunk = 1024;

template <class From, class To>
void copy_run(const Run<2>& run, bool stream) {
    const auto* from = reinterpret_cast<const From*>(run.data[0]);
    auto* to = reinterpret_cast<To*>(run.data[1]);
    if constexpr (std::is_same_v<From, To>) {
        if (run.strides[0] == 1 && run.strides[1] == 1) {
            const std::int64_t bytes = run.length * static_cast<std::int64_t>(sizeof(To));
            if (stream && worth_streaming_run(bytes)) return stream_copy(from, to, bytes);
            std::memcpy(to, from, static_cast<std::size_t>(bytes));
            return;
        }
        for (std::int64_t i = 0; i < run.length; ++i) to[i * run.strides[1]] = from[i * run.strides[0]];
    } else if constexpr (is_half<From> || is_half<To>) {
        float buffer[chunk];
        for (std::int64_t i = 0; i < run.length; i += chunk) {
            const std::int64_t n = std::min(chunk, run.length - i);
            const float* values = load_row(from + i * run.strides[0], run.strides[0], n, buffer);
            store_row(values, to + i * run.strides[1], run.strides[1], n);
        }
    } else {
        for (std::int64_t i = 0; i < run.length; ++i)
            to[i * run.strides[1]] = convert<From, To>(from[i * run.strides[0]]);
    }
}

constexpr std::int64_t tile = 32;

// A transposition: `across` is contiguous in what is read, `along` in what is written. Tiles pass through a buffer, so
// that every cache line is read once and written once, whole.
struct Transposition {
    int across, along;
};

bool is_transposition(const RowLoop<2>& loop, Transposition& found) {
    found.along = loop.rank() - 1;
    if (loop.stride(found.along, 1) != 1 || loop.stride(found.along, 0) <= 1) return false;
    for (found.across = 0; found.across < found.along; ++found.across)
        if (loop.stride(found.across, 0) == 1)
            return loop.size(found.across) >= tile / 4 && loop.size(found.along) >= tile / 4;
    return false;
}

template <class T>
void copy_tile(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride, std::int64_t across,
               std::int64_t along) {
    T buffer[tile][tile];  // as it is written
    for (std::int64_t j = 0; j < along; ++j)
        for (std::int64_t i = 0; i < across; ++i) buffer[i][j] = from[j * from_stride + i];
    for (std::int64_t i = 0; i < across; ++i) std::copy_n(buffer[i], along, to + i * to_stride);
}

template <class T>
void transpose(const RowLoop<2>& loop, Transposition dims) {
    const std::int64_t across = loop.size(dims.across), along = loop.size(dims.along);
    const std::int64_t across_tiles = (across + tile - 1) / tile, along_tiles = (along + tile - 1) / tile;
    std::int64_t planes = 1;
    for (int dim = 0; dim < dims.along; ++dim)
        if (dim != dims.across) planes *= loop.size(dim);
    parallel_for(planes * across_tiles * along_tiles, 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t n = begin; n < end; ++n) {
            const std::int64_t first_along = n % along_tiles * tile;
            const std::int64_t first_across = n / along_tiles % across_tiles * tile;
            std::int64_t plane = n / along_tiles / across_tiles;
            std::int64_t from = first_along * loop.stride(dims.along, 0) + first_across;
            std::int64_t to = first_along + first_across * loop.stride(dims.across, 1);
            for (int dim = dims.along - 1; dim >= 0; --dim) {
                if (dim == dims.across) continue;
                from += plane % loop.size(dim) * loop.stride(dim, 0);
                to += plane % loop.size(dim) * loop.stride(dim, 1);
                plane /= loop.size(dim);
            }
            copy_tile(reinterpret_cast<const T*>(loop.start(0)) + from, loop.stride(dims.along, 0),
                      reinterpret_cast<T*>(loop.start(1)) + to, loop.stride(dims.across, 1),
                      std::min(tile, across - first_across), std::min(tile, along - first_along));
        }
    });
}

void copy_on_cpu(const View& from, const View& to) {
    if (is_quantised(from.dtype) || is_quantised(to.dtype)) return copy_quantised(from, to);
    const RowLoop<2> loop({&from, &to});
    const bool stream = worth_streaming(bytes_of(to.dtype, to.elements()));
    visit_plain(from.dtype, "copy", [&]<class From>(Type<From>) {
        visit_plain(to.dtype, "copy", [&]<class To>(Type<To>) {
            if constexpr (std::is_same_v<From, To>) {
                Transposition dims;
                if (is_transposition(loop, dims)) return transpose<To>(loop, dims);
            }
            loop.parallel([&](const Run<2>& run) { copy_run<From, To>(run, stream); });
        });
    });
}

void fill_on_cpu(double value, const View& to) {
    const bool large = worth_streaming(bytes_of(to.dtype, to.elements()));
    visit_plain(to.dtype, "fill", [&]<class T>(Type<T>) {
        const T stored = convert<double, T>(value);
        T pattern[64 / sizeof(T)];
        std::fill(std::begin(pattern), std::end(pattern), stored);
        RowLoop<1>({&to}).parallel([&](const Run<1>& run) {
            auto* row = reinterpret_cast<T*>(run.data[0]);
            const std::int64_t bytes = run.length * static_cast<std::int64_t>(sizeof(T));
            if (run.strides[0] == 1 && large && worth_streaming_run(bytes)) return stream_fill(pattern, row, bytes);
            if (run.strides[0] == 1) return static_cast<void>(std::fill_n(row, run.length, stored));
            for (std::int64_t i = 0; i < run.length; ++i) row[i * run.strides[0]] = stored;
        });
    });
}

template <class From, class Into>
void accumulate_run(const Run<2>& run) {
    using Compute = std::conditional_t<std::is_same_v<From, double> || std::is_same_v<Into, double>, double, float>;
    const auto* from = reinterpret_cast<const From*>(run.data[0]);
    auto* into = reinterpret_cast<Into*>(run.data[1]);
    Compute more[chunk], sum[chunk];
    for (std::int64_t i = 0; i < run.length; i += chunk) {
        const std::int64_t n = std::min(chunk, run.length - i);
        const Compute* a = load_row<Compute>(from + i * run.strides[0], run.strides[0], n, more);
        Into* row = into + i * run.strides[1];
        const Compute* b = load_row<Compute>(row, run.strides[1], n, sum);
        Compute* out = result_row<Compute>(row, run.strides[1], sum);
        for (std::int64_t j = 0; j < n; ++j) out[j] = a[j] + b[j];
        store_row(out, row, run.strides[1], n);
    }
}

void accumulate_on_cpu(const View& from, const View& into) {
    const RowLoop<2> loop({&from, &into});
    visit_float(from.dtype, "accumulate", [&]<class From>(Type<From>) {
        visit_float(into.dtype, "accumulate",
                    [&]<class Into>(Type<Into>) { loop.parallel(accumulate_run<From, Into>); });
    });
}

const RegisterKernel register_copy{kernels::copy, DeviceKind::CPU, copy_on_cpu};
const RegisterKernel register_fill{kernels::fill, DeviceKind::CPU, fill_on_cpu};
const RegisterKernel register_accumulate{kernels::accumulate, DeviceKind::CPU, accumulate_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
