// Softmax and log-softmax, row by row. A row stays in the cache between its three passes (maximum, exponentials and
// their sum, scaling), and the next row is fetched during the one that computes most.
#include "kernels/softmax.h"

#include <cmath>

#include "core/parallel.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/softmax.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "kernels/cpu/row_math-inl.h"

#ifndef TESSERA_SOFTMAX_ROWS
#define TESSERA_SOFTMAX_ROWS
namespace tessera {
namespace {

template <class T>
struct SoftmaxRow {
    const T* x = nullptr;     // backward: the result y
    const T* dy = nullptr;    // backward only
    const T* next = nullptr;  // the row that will be read after this one
    T* scratch = nullptr;     // as long as the row; may be `out`
    T* out = nullptr;         // backward: dx
    std::int64_t length = 0, width = 0;
    bool stream = false;
};

}  // namespace
}  // namespace tessera
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

// A row of −∞ alone has no largest value to subtract.
template <class T>
T finite_maximum(const SoftmaxRow<T>& r) {
    const T largest = row::maximum(r.x, r.length);
    return largest == -std::numeric_limits<T>::infinity() ? T(0) : largest;
}

template <class T>
void zero_rest(const SoftmaxRow<T>& r) {
    std::fill(r.out + r.length, r.out + r.width, T(0));
}

template <class T>
void softmax_row(const SoftmaxRow<T>& r) {
    const auto largest = row::set<T>(finite_maximum(r));
    const T total = row::sum<T>(r.length, [&](auto at) HWY_ATTR {
        const auto value = row::exp_not_above_zero<T>(hn::Sub(at.load(r.x), largest));
        hwy::Prefetch(r.next + at.i);
        at.store(value, r.scratch);
        return value;
    });
    const auto factor = row::set<T>(total == 0 ? T(0) : T(1) / total);
    row::walk<T>(r.length, r.stream, r.out,
                 [&](auto at) HWY_ATTR { at.write(hn::Mul(at.load(r.scratch), factor), r.out); });
    zero_rest(r);
}

template <class T>
void log_softmax_row(const SoftmaxRow<T>& r) {
    const T largest = finite_maximum(r);
    const auto shift = row::set<T>(largest);
    const T total = row::sum<T>(r.length, [&](auto at) HWY_ATTR {
        hwy::Prefetch(r.next + at.i);
        return row::exp_not_above_zero<T>(hn::Sub(at.load(r.x), shift));
    });
    const auto log_total = row::set<T>(total == 0 ? T(0) : std::log(total));
    row::walk<T>(r.length, r.stream, r.out,
                 [&](auto at) HWY_ATTR { at.write(hn::Sub(hn::Sub(at.load(r.x), shift), log_total), r.out); });
}

template <class T>
void softmax_backward_row(const SoftmaxRow<T>& r) {
    const auto mean =
        row::set<T>(row::sum<T>(r.length, [&](auto at) HWY_ATTR { return hn::Mul(at.load(r.x), at.load(r.dy)); }));
    row::walk<T>(r.length, r.stream, r.out, [&](auto at) HWY_ATTR {
        hwy::Prefetch(r.next + at.i);
        at.write(hn::Mul(at.load(r.x), hn::Sub(at.load(r.dy), mean)), r.out);
    });
    zero_rest(r);
}

template <class T>
void log_softmax_backward_row(const SoftmaxRow<T>& r) {
    const auto total = row::set<T>(row::sum<T>(r.length, [&](auto at) HWY_ATTR { return at.load(r.dy); }));
    row::walk<T>(r.length, r.stream, r.out, [&](auto at) HWY_ATTR {
        hwy::Prefetch(r.next + at.i);
        at.write(hn::NegMulAdd(row::exp_not_above_zero<T>(at.load(r.x)), total, at.load(r.dy)), r.out);
    });
}

#define TESSERA_ROW_FUNCTIONS(name)                                \
    void name##_f32(const SoftmaxRow<float>& r) { name##_row(r); } \
    void name##_f64(const SoftmaxRow<double>& r) { name##_row(r); }
TESSERA_ROW_FUNCTIONS(softmax)
TESSERA_ROW_FUNCTIONS(log_softmax)
TESSERA_ROW_FUNCTIONS(softmax_backward)
TESSERA_ROW_FUNCTIONS(log_softmax_backward)
#undef TESSERA_ROW_FUNCTIONS

}  // namespace
}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
namespace {

template <class T>
using RowFunction = void(const SoftmaxRow<T>&);

struct RowFunctions {
    RowFunction<float>* f32;
    RowFunction<double>* f64;
};

template <class T, class Compute>
void run_rows(const View& x, const View& lengths, const View& dy, const View& out, RowFunction<Compute>* function) {
    const Rows<T> x_rows(x), dy_rows(dy.defined() ? dy : x), out_rows(out);
    const RowValues<std::int64_t> row_lengths(lengths);
    const std::int64_t width = x.row_length(), rows = x.rows();
    const bool direct = std::is_same_v<T, Compute> && out_rows.stride() == 1;
    const bool stream = direct && worth_streaming(bytes_of(out.dtype, out.elements()));
    parallel_for(rows, rows_per_piece(width), [&](std::int64_t begin, std::int64_t end) {
        const auto [x_buffer, dy_buffer, out_buffer] = thread_buffers<3, Compute>(width);
        for (std::int64_t i = begin; i < end; ++i) {
            SoftmaxRow<Compute> r;
            r.width = width;
            r.stream = stream;
            r.length = lengths.defined() ? std::clamp<std::int64_t>(row_lengths[i], 0, width) : width;
            r.x = load_row<Compute>(x_rows[i], x_rows.stride(), r.length, x_buffer);
            if (dy.defined()) r.dy = load_row<Compute>(dy_rows[i], dy_rows.stride(), r.length, dy_buffer);
            r.out = result_row<Compute>(out_rows[i], out_rows.stride(), out_buffer);
            r.scratch = stream ? out_buffer : r.out;
            r.next = r.x;
            if constexpr (std::is_same_v<T, Compute>) r.next = x_rows[std::min(i + 1, end - 1)];
            function(r);
            store_row<Compute>(r.out, out_rows[i], out_rows.stride(), width);
        }
    });
}

void run(const char* name, const View& x, const View& lengths, const View& dy, const View& out,
         const RowFunctions& functions) {
    visit_float(x.dtype, name, [&]<class T>(Type<T>) {
        if constexpr (std::is_same_v<T, double>)
            run_rows<T, double>(x, lengths, dy, out, functions.f64);
        else
            run_rows<T, float>(x, lengths, dy, out, functions.f32);
    });
}

HWY_EXPORT(softmax_f32);
HWY_EXPORT(softmax_f64);
HWY_EXPORT(log_softmax_f32);
HWY_EXPORT(log_softmax_f64);
HWY_EXPORT(softmax_backward_f32);
HWY_EXPORT(softmax_backward_f64);
HWY_EXPORT(log_softmax_backward_f32);
HWY_EXPORT(log_softmax_backward_f64);

void softmax_on_cpu(const View& x, const View& lengths, const View& out) {
    run("softmax", x, lengths, {}, out, {&HWY_DYNAMIC_DISPATCH(softmax_f32), &HWY_DYNAMIC_DISPATCH(softmax_f64)});
}

void softmax_backward_on_cpu(const View& y, const View& lengths, const View& dy, const View& dx) {
    run("softmax_backward", y, lengths, dy, dx,
        {&HWY_DYNAMIC_DISPATCH(softmax_backward_f32), &HWY_DYNAMIC_DISPATCH(softmax_backward_f64)});
}

void log_softmax_on_cpu(const View& x, const View& out) {
    run("log_softmax", x, {}, {}, out,
        {&HWY_DYNAMIC_DISPATCH(log_softmax_f32), &HWY_DYNAMIC_DISPATCH(log_softmax_f64)});
}

void log_softmax_backward_on_cpu(const View& y, const View& dy, const View& dx) {
    run("log_softmax_backward", y, {}, dy, dx,
        {&HWY_DYNAMIC_DISPATCH(log_softmax_backward_f32), &HWY_DYNAMIC_DISPATCH(log_softmax_backward_f64)});
}

const Fill fill_softmax{kernels::softmax, DeviceKind::CPU, softmax_on_cpu};
const Fill fill_softmax_backward{kernels::softmax_backward, DeviceKind::CPU, softmax_backward_on_cpu};
const Fill fill_log_softmax{kernels::log_softmax, DeviceKind::CPU, log_softmax_on_cpu};
const Fill fill_log_softmax_backward{kernels::log_softmax_backward, DeviceKind::CPU, log_softmax_backward_on_cpu};

}  // namespace
}  // namespace tessera
#endif
