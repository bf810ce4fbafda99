// Layer norm and RMS norm forward. A row is read from memory once: its statistics and its result are computed while it
// is in the cache, and the next row is fetched meanwhile.
#include "tessera/kernels/norm.h"

#include <cmath>

#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/convert.h"
#include "tessera/kernels/cpu/norm_rows.h"
#include "tessera/kernels/cpu/norm_weight.h"
#include "tessera/kernels/cpu/rows.h"
#include "tessera/kernels/cpu/simd_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/norm.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "tessera/kernels/cpu/row_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace {

// x + residual into scratch, and from there past the caches to its home: the next passes read it again.
template <class T>
const T* add_residual(const NormRows<T>& r) {
    if (!r.residual) return r.x;
    row::walk<T>(r.width, [&, fetch = r.stream && r.fetches()](auto at) HWY_ATTR {
        if (fetch) row::fetch_on(r.x, at);
        if (fetch) row::fetch_on(r.residual, at);
        at.store(hn::Add(at.load(r.x), at.load(r.residual)), r.scratch);
    });
    row::walk<T>(r.width, r.stream, r.sum, [&, later = r.later_residual()](auto at) HWY_ATTR {
        row::fetch_ahead(later, at);
        at.write(at.load(r.scratch), r.sum);
    });
    return r.scratch;
}

template <class T>
T sum_of_squares(const T* x, std::int64_t width, bool fetch) {
    return row::sum<T>(width, [=](auto at) HWY_ATTR {
        if (fetch) row::fetch_on(x, at);
        const auto value = at.load(x);
        return hn::Mul(value, value);
    });
}

template <class T>
void rms_norm_rows(NormRows<T> r) {
    for (; r.count > 0; r.advance()) {
        const T* x = add_residual(r);
        const T squares = sum_of_squares(x, r.width, r.fetches_on());
        *r.rstd = T(1) / std::sqrt(squares / static_cast<T>(r.width) + r.eps);
        const auto rstd = row::set<T>(*r.rstd);
        const T* later = r.later_x();
        row::walk<T>(r.width, r.stream, r.out, [=, weight = r.weight, out = r.out](auto at) HWY_ATTR {
            row::fetch_ahead(later, at);
            at.write(hn::Mul(hn::Mul(at.load(x), rstd), at.load(weight)), out);
        });
    }
}

template <class T>
struct Moments {
    T mean, squares;  // squares: Σ (x − mean)²
};

// The mean is subtracted before squaring: E[x²] − mean² would cancel where the mean is large. Chunks that stay in the
// first cache for both passes are merged as they come (Chan et al. 1979).
template <class T>
Moments<T> moments_of(const T* x, std::int64_t width, bool fetch) {
    constexpr std::int64_t chunk = 1024;
    Moments<T> all{0, 0};
    for (std::int64_t begin = 0; begin < width; begin += chunk) {
        const std::int64_t count = std::min(chunk, width - begin);
        const T* part = x + begin;
        const T total = row::sum<T>(count, [=](auto at) HWY_ATTR {
            if (fetch) row::fetch_on(part, at);
            return at.load(part);
        });
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
void layer_norm_rows(NormRows<T> r) {
    for (; r.count > 0; r.advance()) {
        const T* x = add_residual(r);
        const Moments<T> moments = moments_of(x, r.width, r.fetches_on());
        *r.rstd = T(1) / std::sqrt(moments.squares / static_cast<T>(r.width) + r.eps);
        if (r.mean) *r.mean = moments.mean;
        const auto mean = row::set<T>(moments.mean), rstd = row::set<T>(*r.rstd);
        const T* later = r.later_x();
        row::walk<T>(r.width, r.stream, r.out, [=, weight = r.weight, bias = r.bias, out = r.out](auto at) HWY_ATTR {
            row::fetch_ahead(later, at);
            const auto normed = hn::Mul(hn::Sub(at.load(x), mean), rstd);
            at.write(hn::MulAdd(normed, at.load(weight), at.load(bias)), out);
        });
    }
}

void layer_norm_f32(const NormRows<float>& r) { layer_norm_rows(r); }
void layer_norm_f64(const NormRows<double>& r) { layer_norm_rows(r); }
void rms_norm_f32(const NormRows<float>& r) { rms_norm_rows(r); }
void rms_norm_f64(const NormRows<double>& r) { rms_norm_rows(r); }

}  // namespace
}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

template <class T>
using RowsFunction = void(const NormRows<T>&);

// The sum of a row in a 16-bit format, rounded as it is stored: what is normalised is what the caller gets.
template <class T>
void add_rounded(NormRows<float>& r, const Rows<T>& residual, const Rows<T>& sum, std::int64_t row, float* buffer) {
    const float* other = load_row<float>(residual[row], residual.stride(), r.width, r.scratch);
    for (std::int64_t i = 0; i < r.width; ++i) buffer[i] = r.x[i] + other[i];
    store_row<float>(buffer, sum[row], sum.stride(), r.width);
    r.x = load_row<float>(sum[row], sum.stride(), r.width, buffer);
}

template <class T, class Compute>
class Walk {
   public:
    explicit Walk(const kernels::NormForward& n)
        : adds_(n.residual.defined()),
          width_(n.x.row_length()),
          rows_(n.x.rows()),
          eps_(static_cast<Compute>(n.eps)),
          x_(n.x),
          residual_(adds_ ? n.residual : n.x),
          out_(n.out),
          sum_(adds_ ? n.sum : n.out),
          means_(n.mean),
          rstds_(n.rstd),
          weight_(n.weight, width_, 1, n.weight_offset),
          bias_(n.bias, width_, 0, 0),
          has_mean_(n.mean.defined()),
          direct_(std::is_same_v<T, Compute> && out_.stride() == 1 && sum_.stride() == 1),
          stream_(direct_ &&
                  worth_streaming_rows(bytes_of(n.out.dtype, n.out.elements()), bytes_of(n.out.dtype, width_))),
          even_(direct_ && x_.stride() == 1 && residual_.stride() == 1 && x_.is_even() && residual_.is_even() &&
                out_.is_even() && sum_.is_even() && means_.is_dense() && rstds_.is_dense()) {}

    void run(RowsFunction<Compute>* function) const {
        parallel_for(rows_, rows_per_piece(width_), [&](std::int64_t begin, std::int64_t end) {
            const auto buffers = thread_buffers<4, Compute>(width_);
            NormRows<Compute> r;
            r.weight = weight_.data();
            r.bias = bias_.data();
            r.scratch = buffers[3];
            r.eps = eps_;
            r.width = width_;
            r.stream = stream_;
            if (even_) return run_together(r, begin, end, function);
            for (std::int64_t i = begin; i < end; ++i) run_one(r, i, buffers, function);
        });
    }

   private:
    // Evenly spaced rows that need no conversion, in one call.
    void run_together(NormRows<Compute>& r, std::int64_t begin, std::int64_t end,
                      RowsFunction<Compute>* function) const {
        if constexpr (std::is_same_v<T, Compute>) {
            r.x = x_[begin], r.x_step = x_.step();
            r.out = out_[begin], r.out_step = out_.step();
            if (adds_) r.residual = residual_[begin], r.residual_step = residual_.step();
            if (adds_) r.sum = sum_[begin], r.sum_step = sum_.step();
            if (has_mean_) r.mean = &means_[begin];
            r.rstd = &rstds_[begin];
            r.count = end - begin;
            r.fetch_rows = rows_to_fetch(bytes_of(dtype_of<T>, width_), stream_);
            function(r);
        }
    }

    void run_one(NormRows<Compute>& r, std::int64_t i, const std::array<Compute*, 4>& buffers,
                 RowsFunction<Compute>* function) const {
        r.x = load_row<Compute>(x_[i], x_.stride(), width_, buffers[0]);
        if constexpr (is_half<T>) {
            if (adds_) add_rounded(r, residual_, sum_, i, buffers[0]);
        } else {
            if (adds_) r.residual = load_row<Compute>(residual_[i], residual_.stride(), width_, buffers[1]);
            if (adds_) r.sum = sum_[i];
        }
        r.out = result_row<Compute>(out_[i], out_.stride(), buffers[2]);
        if (has_mean_) r.mean = &means_[i];
        r.rstd = &rstds_[i];
        function(r);
        store_row<Compute>(r.out, out_[i], out_.stride(), width_);
    }

    bool adds_;
    std::int64_t width_, rows_;
    Compute eps_;
    Rows<T> x_, residual_, out_, sum_;
    RowValues<Compute> means_, rstds_;
    RowVector<Compute> weight_, bias_;
    bool has_mean_, direct_, stream_, even_;
};

void run(const char* name, const kernels::NormForward& n, RowsFunction<float>* f32, RowsFunction<double>* f64) {
    visit_float(n.x.dtype, name, [&]<class T>(Type<T>) {
        if constexpr (std::is_same_v<T, double>)
            Walk<T, double>(n).run(f64);
        else
            Walk<T, float>(n).run(f32);
    });
}

HWY_EXPORT(layer_norm_f32);
HWY_EXPORT(layer_norm_f64);
HWY_EXPORT(rms_norm_f32);
HWY_EXPORT(rms_norm_f64);

void layer_norm_on_cpu(const kernels::NormForward& n) {
    run("layer_norm", n, &HWY_DYNAMIC_DISPATCH(layer_norm_f32), &HWY_DYNAMIC_DISPATCH(layer_norm_f64));
}

void rms_norm_on_cpu(const kernels::NormForward& n) {
    run("rms_norm", n, &HWY_DYNAMIC_DISPATCH(rms_norm_f32), &HWY_DYNAMIC_DISPATCH(rms_norm_f64));
}

const RegisterKernel register_layer_norm{kernels::layer_norm, DeviceKind::CPU, layer_norm_on_cpu};
const RegisterKernel register_rms_norm{kernels::rms_norm, DeviceKind::CPU, rms_norm_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
