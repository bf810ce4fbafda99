#include "kernels/memory.h"

#include <cstring>

#include "kernels/cpu/convert.h"
#include "kernels/cpu/row_loop.h"

namespace tessera {
namespace {

constexpr std::int64_t chunk = 1024;

template <class From, class To>
void copy_run(const Run<2>& run) {
    const auto* from = reinterpret_cast<const From*>(run.data[0]);
    auto* to = reinterpret_cast<To*>(run.data[1]);
    if constexpr (std::is_same_v<From, To>) {
        if (run.strides[0] == 1 && run.strides[1] == 1) {
            std::memcpy(to, from, static_cast<std::size_t>(run.length) * sizeof(To));
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

void copy_on_cpu(const View& from, const View& to) {
    const RowLoop<2> loop({&from, &to});
    visit_plain(from.dtype, "copy", [&]<class From>(Type<From>) {
        visit_plain(to.dtype, "copy", [&]<class To>(Type<To>) { loop.parallel(copy_run<From, To>); });
    });
}

void fill_on_cpu(double value, const View& to) {
    visit_plain(to.dtype, "fill", [&]<class T>(Type<T>) {
        const T stored = convert<double, T>(value);
        RowLoop<1>({&to}).parallel([&](const Run<1>& run) {
            auto* row = reinterpret_cast<T*>(run.data[0]);
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

const Fill fill_copy{kernels::copy, DeviceKind::CPU, copy_on_cpu};
const Fill fill_fill{kernels::fill, DeviceKind::CPU, fill_on_cpu};
const Fill fill_accumulate{kernels::accumulate, DeviceKind::CPU, accumulate_on_cpu};

}  // namespace
}  // namespace tessera
