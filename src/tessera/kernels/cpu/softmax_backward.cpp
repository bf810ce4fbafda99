// Gradients of softmax and log-softmax from their results: a sum over the row, then one pass that writes.
#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/convert.h"
#include "tessera/kernels/cpu/rows.h"
#include "tessera/kernels/cpu/simd_store.h"
#include "tessera/kernels/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/softmax_backward.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "tessera/kernels/cpu/row_math-inl.h"

#ifndef TESSERA_SOFTMAX_BACKWARD_ROW
#define TESSERA_SOFTMAX_BACKWARD_ROW
namespace tessera::kernels::cpu {
namespace {

template <class T>
struct BackwardRow {
    const T* y = nullptr;
    const T* dy = nullptr;
    const T* later_y = nullptr;  // the rows to fetch for later, or none
    const T* later_dy = nullptr;
    T* dx = nullptr;
    std::int64_t length = 0, width = 0;
    bool stream = false;
};

}  // namespace
}  // namespace tessera::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace {

template <class T>
void softmax_row(const BackwardRow<T>& r) {
    const auto mean =
        row::set<T>(row::sum<T>(r.length, [y = r.y, dy = r.dy, fetch = r.stream && r.later_y](auto at) HWY_ATTR {
            if (fetch) row::fetch_on(y, at);
            if (fetch) row::fetch_on(dy, at);
            return hn::Mul(at.load(y), at.load(dy));
        }));
    row::walk<T>(r.length, r.stream, r.dx,
                 [=, y = r.y, dy = r.dy, later_y = r.later_y, later_dy = r.later_dy, dx = r.dx](auto at) HWY_ATTR {
                     row::fetch_ahead(later_y, at);
                     row::fetch_ahead(later_dy, at);
                     at.write(hn::Mul(at.load(y), hn::Sub(at.load(dy), mean)), dx);
                 });
    std::fill(r.dx + r.length, r.dx + r.width, T(0));
}

template <class T>
void log_softmax_row(const BackwardRow<T>& r) {
    const auto total = row::set<T>(row::sum<T>(r.length, [dy = r.dy, fetch = r.stream && r.later_y](auto at) HWY_ATTR {
        if (fetch) row::fetch_on(dy, at);
        return at.load(dy);
    }));
    row::walk<T>(r.length, r.stream, r.dx,
                 [=, y = r.y, dy = r.dy, later_y = r.later_y, later_dy = r.later_dy, dx = r.dx](auto at) HWY_ATTR {
                     row::fetch_ahead(later_y, at);
                     row::fetch_ahead(later_dy, at);
                     const auto share = math::quick_exp_of_nonpositive(row::Tag<T>(), at.load(y));
                     at.write(hn::NegMulAdd(share, total, at.load(dy)), dx);
                 });
}

void softmax_backward_f32(const BackwardRow<float>& r) { softmax_row(r); }
void softmax_backward_f64(const BackwardRow<double>& r) { softmax_row(r); }
void log_softmax_backward_f32(const BackwardRow<float>& r) { log_softmax_row(r); }
void log_softmax_backward_f64(const BackwardRow<double>& r) { log_softmax_row(r); }

}  // namespace
}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

template <class T>
using RowFunction = void(const BackwardRow<T>&);

template <class T, class Compute>
void run_rows(const View& y, const View& lengths, const View& dy, const View& dx, RowFunction<Compute>* function) {
    const Rows<T> y_rows(y), dy_rows(dy), dx_rows(dx);
    const RowValues<std::int64_t> row_lengths(lengths);
    const std::int64_t width = y.row_length();
    const bool direct = std::is_same_v<T, Compute> && dx_rows.stride() == 1;
    const bool stream = direct && worth_streaming(bytes_of(dx.dtype, dx.elements()));
    const std::int64_t ahead = rows_to_fetch(bytes_of(dtype_of<T>, width), stream);
    parallel_for(y.rows(), rows_per_piece(width), [&](std::int64_t begin, std::int64_t end) {
        const auto [y_buffer, dy_buffer, dx_buffer] = thread_buffers<3, Compute>(width);
        BackwardRow<Compute> r;
        r.width = width;
        r.stream = stream;
        for (std::int64_t i = begin; i < end; ++i) {
            r.length = lengths.defined() ? std::clamp<std::int64_t>(row_lengths[i], 0, width) : width;
            r.y = load_row<Compute>(y_rows[i], y_rows.stride(), r.length, y_buffer);
            if constexpr (std::is_same_v<T, Compute>) {
                const bool fetches = ahead > 0 && i + ahead < end;
                r.later_y = fetches ? y_rows[i + ahead] : nullptr;
                r.later_dy = fetches && stream ? dy_rows[i + ahead] : nullptr;
            }
            r.dy = load_row<Compute>(dy_rows[i], dy_rows.stride(), r.length, dy_buffer);
            r.dx = result_row<Compute>(dx_rows[i], dx_rows.stride(), dx_buffer);
            function(r);
            store_row<Compute>(r.dx, dx_rows[i], dx_rows.stride(), width);
        }
    });
}

HWY_EXPORT(softmax_backward_f32);
HWY_EXPORT(softmax_backward_f64);
HWY_EXPORT(log_softmax_backward_f32);
HWY_EXPORT(log_softmax_backward_f64);

void softmax_backward_on_cpu(const View& y, const View& lengths, const View& dy, const View& dx) {
    visit_float(y.dtype, "softmax_backward", [&]<class T>(Type<T>) {
        if constexpr (std::is_same_v<T, double>)
            run_rows<T, double>(y, lengths, dy, dx, &HWY_DYNAMIC_DISPATCH(softmax_backward_f64));
        else
            run_rows<T, float>(y, lengths, dy, dx, &HWY_DYNAMIC_DISPATCH(softmax_backward_f32));
    });
}

void log_softmax_backward_on_cpu(const View& y, const View& dy, const View& dx) {
    visit_float(y.dtype, "log_softmax_backward", [&]<class T>(Type<T>) {
        if constexpr (std::is_same_v<T, double>)
            run_rows<T, double>(y, {}, dy, dx, &HWY_DYNAMIC_DISPATCH(log_softmax_backward_f64));
        else
            run_rows<T, float>(y, {}, dy, dx, &HWY_DYNAMIC_DISPATCH(log_softmax_backward_f32));
    });
}

const RegisterKernel register_softmax_backward{kernels::softmax_backward, DeviceKind::CPU, softmax_backward_on_cpu};
const RegisterKernel register_log_softmax_backward{kernels::log_softmax_backward, DeviceKind::CPU,
                                                   log_softmax_backward_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
