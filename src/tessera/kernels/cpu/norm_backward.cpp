// Gradients of layer norm and RMS norm. With x̂ the normalised row and ŷ = dout · weight:
//     dx = rstd · (ŷ − mean(ŷ) − x̂ · mean(ŷ · x̂)) + sum_gradient      (RMS norm has no mean(ŷ) and x̂ = x · rstd)
//     dweight = Σ over rows of dout · x̂,   dbias = Σ over rows of dout
// Rows are cut into blocks by their number alone. Each block adds up its own dweight and dbias while it computes dx,
// and the blocks are then added in order: the same bits at any thread count, and every operand read once.
#include <vector>

#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/convert.h"
#include "tessera/kernels/cpu/norm_weight.h"
#include "tessera/kernels/cpu/rows.h"
#include "tessera/kernels/cpu/simd_store.h"
#include "tessera/kernels/norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/norm_backward.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#include "tessera/kernels/cpu/row_math-inl.h"

#ifndef TESSERA_NORM_BACKWARD_ROW
#define TESSERA_NORM_BACKWARD_ROW
namespace tessera::kernels::cpu {
namespace {

template <class T>
struct NormBackwardRow {
    const T* x = nullptr;
    const T* dout = nullptr;
    const T* sum_gradient = nullptr;  // or none
    const T* weight = nullptr;
    const T* later_x = nullptr;  // the rows to fetch for later, or none
    const T* later_dout = nullptr;
    T mean = 0, rstd = 0;
    T* dx = nullptr;       // or none
    T* dweight = nullptr;  // added to; or none
    T* dbias = nullptr;    // added to; or none
    std::int64_t width = 0;
    bool stream = false;
};

}  // namespace
}  // namespace tessera::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace {

template <bool centred, class T>
HWY_INLINE auto normed_at(const NormBackwardRow<T>& r, auto at) {
    auto x = at.load(r.x);
    if constexpr (centred) x = hn::Sub(x, row::set<T>(r.mean));
    return hn::Mul(x, row::set<T>(r.rstd));
}

template <bool centred, class T>
void backward_row(const NormBackwardRow<T>& r) {
    auto sums = row::Sums<T>{0, 0};
    if (r.dx)
        sums =
            row::sum_pair<T>(r.width, [&, fetch = r.stream && r.later_x](auto at, auto& first, auto& second) HWY_ATTR {
                if (fetch) row::fetch_on(r.x, at);
                if (fetch) row::fetch_on(r.dout, at);
                const auto y = hn::Mul(at.load(r.dout), at.load(r.weight));
                if constexpr (centred) first = hn::Add(first, y);
                second = hn::MulAdd(y, normed_at<centred>(r, at), second);
            });
    const auto y_mean = row::set<T>(sums.first / static_cast<T>(r.width));
    const auto y_normed_mean = row::set<T>(sums.second / static_cast<T>(r.width));
    const auto rstd = row::set<T>(r.rstd);
    row::walk<T>(r.width, r.stream, r.dx, [&](auto at) HWY_ATTR {
        const auto normed = normed_at<centred>(r, at), dout = at.load(r.dout);
        row::fetch_ahead(r.later_x, at);
        row::fetch_ahead(r.later_dout, at);
        if (r.dweight) at.store(hn::MulAdd(dout, normed, at.load(r.dweight)), r.dweight);
        if (r.dbias) at.store(hn::Add(dout, at.load(r.dbias)), r.dbias);
        if (!r.dx) return;
        auto d = hn::Mul(dout, at.load(r.weight));
        if constexpr (centred) d = hn::Sub(d, y_mean);
        d = hn::Mul(hn::NegMulAdd(normed, y_normed_mean, d), rstd);
        if (r.sum_gradient) d = hn::Add(d, at.load(r.sum_gradient));
        at.write(d, r.dx);
    });
}

void layer_norm_backward_f32(const NormBackwardRow<float>& r) { backward_row<true>(r); }
void layer_norm_backward_f64(const NormBackwardRow<double>& r) { backward_row<true>(r); }
void rms_norm_backward_f32(const NormBackwardRow<float>& r) { backward_row<false>(r); }
void rms_norm_backward_f64(const NormBackwardRow<double>& r) { backward_row<false>(r); }

}  // namespace
}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

template <class T>
using RowFunction = void(const NormBackwardRow<T>&);

// The sums of each block of rows, for as many blocks as there are; nothing where the gradient is not wanted.
template <class Compute>
class BlockSums {
   public:
    BlockSums(const View& wanted, std::int64_t blocks, std::int64_t width) : wanted_(wanted), width_(width) {
        if (wanted.defined()) sums_.assign(static_cast<std::size_t>(blocks * width), Compute(0));
    }

    Compute* block(std::int64_t index) { return wanted_.defined() ? sums_.data() + index * width_ : nullptr; }

    void add_up(std::int64_t blocks) const {
        if (!wanted_.defined()) return;
        visit_float(wanted_.dtype, "norm_backward", [&]<class T>(Type<T>) {
            parallel_for(width_, rows_per_piece(blocks), [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t i = begin; i < end; ++i) {
                    double total = 0;
                    for (std::int64_t block = 0; block < blocks; ++block)
                        total += static_cast<double>(sums_[static_cast<std::size_t>(block * width_ + i)]);
                    wanted_.as<T>()[i * wanted_.strides[0]] = convert<double, T>(total);
                }
            });
        });
    }

   private:
    View wanted_;
    std::int64_t width_;
    std::vector<Compute> sums_;
};

template <class T, class Compute>
class Gradient {
   public:
    Gradient(const kernels::NormBackward& n, RowFunction<Compute>* function)
        : n_(n),
          function_(function),
          width_(n.x.row_length()),
          rows_(n.x.rows()),
          // Enough blocks for many cores; few enough rows in each that single precision adds them up well.
          block_rows_(std::clamp<std::int64_t>(rows_ / 64, 32, 256)),
          blocks_((rows_ + block_rows_ - 1) / block_rows_),
          x_(n.x),
          dout_(n.dout),
          sum_gradient_(n.sum_gradient.defined() ? n.sum_gradient : n.x),
          dx_(n.dx.defined() ? n.dx : n.x),
          means_(n.mean),
          rstds_(n.rstd),
          weight_(n.weight, width_, 1, n.weight_offset),
          dweight_(n.dweight, blocks_, width_),
          dbias_(n.dbias, blocks_, width_) {}

    void run() {
        parallel_for(blocks_, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t block = begin; block < end; ++block) run_block(block);
        });
        dweight_.add_up(blocks_);
        dbias_.add_up(blocks_);
    }

   private:
    void run_block(std::int64_t block) {
        const auto [x_buffer, dout_buffer, sum_buffer, dx_buffer] = thread_buffers<4, Compute>(width_);
        NormBackwardRow<Compute> r;
        r.weight = weight_.data();
        r.dweight = dweight_.block(block);
        r.dbias = dbias_.block(block);
        r.width = width_;
        r.stream = std::is_same_v<T, Compute> && n_.dx.defined() && dx_.stride() == 1 &&
                   worth_streaming(bytes_of(n_.dx.dtype, n_.dx.elements()));
        const std::int64_t end = std::min(rows_, (block + 1) * block_rows_);
        const std::int64_t ahead = rows_to_fetch(bytes_of(dtype_of<T>, width_), r.stream);
        for (std::int64_t i = block * block_rows_; i < end; ++i) {
            r.x = load_row<Compute>(x_[i], x_.stride(), width_, x_buffer);
            r.dout = load_row<Compute>(dout_[i], dout_.stride(), width_, dout_buffer);
            if (n_.sum_gradient.defined())
                r.sum_gradient = load_row<Compute>(sum_gradient_[i], sum_gradient_.stride(), width_, sum_buffer);
            r.mean = n_.mean.defined() ? means_[i] : Compute(0);
            r.rstd = rstds_[i];
            if (n_.dx.defined()) r.dx = result_row<Compute>(dx_[i], dx_.stride(), dx_buffer);
            if constexpr (std::is_same_v<T, Compute>) {
                const bool fetches = ahead > 0 && i + ahead < rows_;
                r.later_x = fetches ? x_[i + ahead] : nullptr;
                r.later_dout = fetches ? dout_[i + ahead] : nullptr;
            }
            function_(r);
            if (n_.dx.defined()) store_row<Compute>(r.dx, dx_[i], dx_.stride(), width_);
        }
    }

    const kernels::NormBackward& n_;
    RowFunction<Compute>* function_;
    std::int64_t width_, rows_, block_rows_, blocks_;
    Rows<T> x_, dout_, sum_gradient_, dx_;
    RowValues<Compute> means_, rstds_;
    RowVector<Compute> weight_;
    BlockSums<Compute> dweight_, dbias_;
};

void run(const char* name, const kernels::NormBackward& n, RowFunction<float>* f32, RowFunction<double>* f64) {
    visit_float(n.x.dtype, name, [&]<class T>(Type<T>) {
        if constexpr (std::is_same_v<T, double>)
            Gradient<T, double>(n, f64).run();
        else
            Gradient<T, float>(n, f32).run();
    });
}

HWY_EXPORT(layer_norm_backward_f32);
HWY_EXPORT(layer_norm_backward_f64);
HWY_EXPORT(rms_norm_backward_f32);
HWY_EXPORT(rms_norm_backward_f64);

void layer_norm_backward_on_cpu(const kernels::NormBackward& n) {
    run("layer_norm_backward", n, &HWY_DYNAMIC_DISPATCH(layer_norm_backward_f32),
        &HWY_DYNAMIC_DISPATCH(layer_norm_backward_f64));
}

void rms_norm_backward_on_cpu(const kernels::NormBackward& n) {
    run("rms_norm_backward", n, &HWY_DYNAMIC_DISPATCH(rms_norm_backward_f32),
        &HWY_DYNAMIC_DISPATCH(rms_norm_backward_f64));
}

const RegisterKernel register_layer_norm_backward{kernels::layer_norm_backward, DeviceKind::CPU,
                                                  layer_norm_backward_on_cpu};
const RegisterKernel register_rms_norm_backward{kernels::rms_norm_backward, DeviceKind::CPU, rms_norm_backward_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
