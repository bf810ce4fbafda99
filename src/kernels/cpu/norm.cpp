// Layer norm and RMS norm forward. A row is read from memory once: its statistics and its result are computed while it
// is in the cache, and the next row is fetched meanwhile.
#include "kernels/norm.h"

#include <cmath>

#include "core/parallel.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/norm_row.h"
#include "kernels/cpu/norm_weight.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/simd_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/norm.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "kernels/cpu/norm_streamed-inl.h"
#include "kernels/cpu/row_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::HWY_NAMESPACE {
namespace {

// x + residual into scratch, and from there past the caches to its home: the next passes read it again.
template <class T>
const T* add_residual(const NormRow<T>& r) {
    if (!r.residual) return r.x;
    row::walk<T>(r.width, [&](auto at) HWY_ATTR { at.store(hn::Add(at.load(r.x), at.load(r.residual)), r.scratch); });
    if (r.sum) row::walk<T>(r.width, r.stream, r.sum, [&](auto at) HWY_ATTR { at.write(at.load(r.scratch), r.sum); });
    return r.scratch;
}

template <class T>
T sum_of_squares(const T* x, std::int64_t width) {
    return row::sum<T>(width, [=](auto at) HWY_ATTR {
        const auto value = at.load(x);
        return hn::Mul(value, value);
    });
}

template <class T>
void take_rstd(NormRow<T>& r, const T* x) {
    const T squares = r.squares >= 0 && !r.residual ? r.squares : sum_of_squares(x, r.width);
    r.squares = -1;
    r.rstd = T(1) / std::sqrt(squares / static_cast<T>(r.width) + r.eps);
}

// Whether the row is written past the caches, whole vectors at a time, while another one is read.
template <class T>
bool reads_on(const NormRow<T>& r) {
    const bool whole_vectors = r.width % (4 * row::lanes_of<T>()) == 0 && is_aligned(r.out);
    return r.stream && !r.residual && whole_vectors && r.next != r.x;
}

template <class T>
bool rms_norm_two_rows(NormRow<T>& a, NormRow<T>& b) {
    if (!reads_on(a) || !reads_on(b)) return false;
    take_rstd(a, a.x);
    take_rstd(b, b.x);
    write_two_and_read_on(a, b);
    return true;
}

template <class T>
void rms_norm_row(NormRow<T>& r) {
    const T* x = add_residual(r);
    take_rstd(r, x);
    if (reads_on(r)) return write_and_read_on(r, x);
    const auto rstd = row::set<T>(r.rstd);
    row::walk<T>(r.width, r.stream, r.out, [=, weight = r.weight, next = r.next, out = r.out](auto at) HWY_ATTR {
        row::fetch_ahead(next, at.i);
        at.write(hn::Mul(hn::Mul(at.load(x), rstd), at.load(weight)), out);
    });
}

template <class T>
struct Moments {
    T mean, squares;  // squares: Σ (x − mean)²
};

// The mean is subtracted before squaring: E[x²] − mean² would cancel where the mean is large. Chunks that stay in the
// first cache for both passes are merged as they come (Chan et al. 1979).
template <class T>
Moments<T> moments_of(const T* x, std::int64_t width) {
    constexpr std::int64_t chunk = 1024;
    Moments<T> all{0, 0};
    for (std::int64_t begin = 0; begin < width; begin += chunk) {
        const std::int64_t count = std::min(chunk, width - begin);
        const T* part = x + begin;
        const T total = row::sum<T>(count, [=](auto at) HWY_ATTR { return at.load(part); });
        const T mean = total / static_cast<T>(count);
        const T squares = row::sum<T>(count, [=, centre = row::set<T>(mean)](auto at) HWY_ATTR {
            const auto value = hn::Sub(at.load(part), centre);
            return hn::Mul(value, value);
        });
        const T gap = mean - all.mean, share = static_cast<T>(count) / static_cast<T>(begin + count);
        all.mean += gap * share;
        all.squares += squares + gap * gap * share * static_cast<T>(begin);
    }
    return all;
}

template <class T>
void layer_norm_row(NormRow<T>& r) {
    const T* x = add_residual(r);
    const Moments<T> moments = moments_of(x, r.width);
    r.mean = moments.mean;
    r.rstd = T(1) / std::sqrt(moments.squares / static_cast<T>(r.width) + r.eps);
    const auto mean = row::set<T>(r.mean), rstd = row::set<T>(r.rstd);
    row::walk<T>(r.width, r.stream, r.out,
                 [=, weight = r.weight, bias = r.bias, next = r.next, out = r.out](auto at) HWY_ATTR {
                     row::fetch_ahead(next, at.i);
                     const auto normed = hn::Mul(hn::Sub(at.load(x), mean), rstd);
                     at.write(hn::MulAdd(normed, at.load(weight), at.load(bias)), out);
                 });
}

void layer_norm_f32(NormRow<float>& r) { layer_norm_row(r); }
void layer_norm_f64(NormRow<double>& r) { layer_norm_row(r); }
void rms_norm_f32(NormRow<float>& r) { rms_norm_row(r); }
void rms_norm_f64(NormRow<double>& r) { rms_norm_row(r); }
bool rms_norm_two_f32(NormRow<float>& a, NormRow<float>& b) { return rms_norm_two_rows(a, b); }
bool rms_norm_two_f64(NormRow<double>& a, NormRow<double>& b) { return rms_norm_two_rows(a, b); }

}  // namespace
}  // namespace tessera::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera {
namespace {

// What to do with a row, and, if there is such a way, with two at once (false: not with these two).
template <class T>
struct RowFunctions {
    void (*one)(NormRow<T>&);
    bool (*two)(NormRow<T>&, NormRow<T>&);
};

// The sum of a row in a 16-bit format, rounded as it is stored: what is normalised is what the caller gets.
template <class T>
void add_rounded(NormRow<float>& r, const Rows<T>& residual, const Rows<T>& sum, std::int64_t row, float* buffer) {
    const float* other = load_row<float>(residual[row], residual.stride(), r.width, r.scratch);
    for (std::int64_t i = 0; i < r.width; ++i) buffer[i] = r.x[i] + other[i];
    store_row<float>(buffer, sum[row], sum.stride(), r.width);
    r.x = load_row<float>(sum[row], sum.stride(), r.width, buffer);
}

// Rows of [begin, end) two at a time, as long as two others follow; returns the first row that is left to do.
template <class T>
std::int64_t run_pairs(const Rows<T>& x, const Rows<T>& out, const RowValues<T>& rstds, const NormRow<T>& common,
                       std::int64_t begin, std::int64_t end, const RowFunctions<T>& functions) {
    NormRow<T> a = common, b = common;
    for (; begin + 3 < end; begin += 2) {
        a.x = x[begin], b.x = x[begin + 1];
        a.next = x[begin + 2], b.next = x[begin + 3];
        a.out = out[begin], b.out = out[begin + 1];
        if (!functions.two(a, b)) break;
        rstds[begin] = a.rstd, rstds[begin + 1] = b.rstd;
    }
    return begin;
}

template <class T, class Compute>
void run_rows(const kernels::NormForward& n, const RowFunctions<Compute>& functions) {
    const bool adds = n.residual.defined();
    const std::int64_t width = n.x.row_length(), rows = n.x.rows();
    const Rows<T> x(n.x), residual(adds ? n.residual : n.x), out(n.out), sum(adds ? n.sum : n.out);
    const RowValues<Compute> means(n.mean), rstds(n.rstd);
    const RowVector<Compute> weight(n.weight, width, 1, n.weight_offset), bias(n.bias, width, 0, 0);
    const bool direct = std::is_same_v<T, Compute> && out.stride() == 1 && sum.stride() == 1;
    const bool stream = direct && worth_streaming(bytes_of(n.out.dtype, n.out.elements()));
    parallel_for(rows, rows_per_piece(width), [&](std::int64_t begin, std::int64_t end) {
        const auto [x_buffer, residual_buffer, out_buffer, sum_buffer] = thread_buffers<4, Compute>(width);
        NormRow<Compute> r;
        r.weight = weight.data();
        r.bias = bias.data();
        r.scratch = sum_buffer;
        r.eps = static_cast<Compute>(n.eps);
        r.width = width;
        r.stream = stream;
        if constexpr (std::is_same_v<T, Compute>) {
            constexpr std::int64_t half_first_cache = 16384 / sizeof(T);
            if (functions.two && direct && !adds && x.stride() == 1 && width >= half_first_cache)
                begin = run_pairs(x, out, rstds, r, begin, end, functions);
        }
        for (std::int64_t i = begin; i < end; ++i) {
            r.x = r.next = load_row<Compute>(x[i], x.stride(), width, x_buffer);
            if constexpr (is_half<T>) {
                if (adds) add_rounded(r, residual, sum, i, x_buffer);
            } else {
                r.next = x[std::min(i + 1, end - 1)];
                if (adds) r.residual = load_row<Compute>(residual[i], residual.stride(), width, residual_buffer);
                if (adds) r.sum = sum[i];
            }
            r.out = result_row<Compute>(out[i], out.stride(), out_buffer);
            functions.one(r);
            store_row<Compute>(r.out, out[i], out.stride(), width);
            if (n.mean.defined()) means[i] = r.mean;
            rstds[i] = r.rstd;
        }
    });
}

void run(const char* name, const kernels::NormForward& n, const RowFunctions<float>& f32,
         const RowFunctions<double>& f64) {
    visit_float(n.x.dtype, name, [&]<class T>(Type<T>) {
        if constexpr (std::is_same_v<T, double>)
            run_rows<T, double>(n, f64);
        else
            run_rows<T, float>(n, f32);
    });
}

HWY_EXPORT(layer_norm_f32);
HWY_EXPORT(layer_norm_f64);
HWY_EXPORT(rms_norm_f32);
HWY_EXPORT(rms_norm_f64);
HWY_EXPORT(rms_norm_two_f32);
HWY_EXPORT(rms_norm_two_f64);

void layer_norm_on_cpu(const kernels::NormForward& n) {
    run("layer_norm", n, {&HWY_DYNAMIC_DISPATCH(layer_norm_f32), nullptr},
        {&HWY_DYNAMIC_DISPATCH(layer_norm_f64), nullptr});
}

void rms_norm_on_cpu(const kernels::NormForward& n) {
    run("rms_norm", n, {&HWY_DYNAMIC_DISPATCH(rms_norm_f32), &HWY_DYNAMIC_DISPATCH(rms_norm_two_f32)},
        {&HWY_DYNAMIC_DISPATCH(rms_norm_f64), &HWY_DYNAMIC_DISPATCH(rms_norm_two_f64)});
}

const Fill fill_layer_norm{kernels::layer_norm, DeviceKind::CPU, layer_norm_on_cpu};
const Fill fill_rms_norm{kernels::rms_norm, DeviceKind::CPU, rms_norm_on_cpu};

}  // namespace
}  // namespace tessera
#endif
