#include "tessera/ops/cross_entropy.h"

#include <algorithm>

#include "tessera/kernels/binary.h"
#include "tessera/kernels/cross_entropy.h"
#include "tessera/kernels/gemm.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/cast.h"
#include "tessera/ops/compute_dtype.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

void check_targets(const char* op, const Tensor& rows, const Tensor& targets) {
    check(targets.dtype() == DType::I64, op, ": targets must be i64, not ", targets.dtype());
    check(rows.device() == targets.device(), op, ": devices ", rows.device(), " and ", targets.device(), " differ");
    Shape wanted;
    for (int dim = 0; dim + 1 < rows.rank(); ++dim) wanted.push_back(rows.shape()[dim]);
    check(targets.shape() == wanted, op, ": targets of ", targets.shape(), " do not fit ", rows.shape());
}

// What each row's loss is multiplied by before the sum.
Tensor row_scale(const Tensor& targets, std::int64_t vocabulary, std::int64_t ignore_index, Reduction reduction,
                 DType dtype) {
    const Tensor scale = Tensor::empty({}, dtype, targets.device());
    kernels::target_scale.on(targets.device())(targets.view(), vocabulary, ignore_index, scale.view());
    return reduction == Reduction::Mean ? scale : Tensor::scalar(1, dtype, targets.device());
}

Tensor rows_of(const Tensor& x) {
    const std::int64_t width = x.size(-1);
    std::int64_t rows = 1;
    for (int dim = 0; dim + 1 < x.rank(); ++dim) rows *= x.shape()[dim];
    return reshape(x.detach(), {rows, width}).contiguous();
}

// The chunks of one linear_cross_entropy: losses always, gradients (not yet scaled) where wanted.
class ChunkedLoss {
   public:
    ChunkedLoss(const Tensor& x, const Tensor& weight, const Tensor& targets, const LinearCrossEntropyOptions& options)
        : x_(x),
          weight_(weight),
          targets_(targets),
          rule_{options.ignore_index, options.label_smoothing, options.z_loss, options.soft_cap},
          dtype_(compute_dtype(x.dtype())),
          chunk_(chunk_rows(options.chunk)) {}

    // The sum of the losses; fills the gradients that are wanted.
    Tensor run(bool wants_x, bool wants_weight) {
        const std::int64_t rows = x_.size(0);
        const Tensor losses = Tensor::empty({rows}, dtype_, x_.device());
        if (wants_x) x_gradient = Tensor::empty(x_.shape(), dtype_, x_.device());
        if (wants_weight && rows > 0) weight_gradient = Tensor::empty(weight_.shape(), dtype_, x_.device());
        if (wants_weight && rows == 0) weight_gradient = Tensor::zeros(weight_.shape(), dtype_, x_.device());
        for (std::int64_t first = 0; first < rows; first += chunk_)
            run_chunk(first, std::min(rows, first + chunk_), losses);
        return sum_to(losses, {});
    }

    Tensor x_gradient, weight_gradient;

   private:
    std::int64_t chunk_rows(std::int64_t asked) const {
        check(asked >= 0, "linear_cross_entropy: chunk ", asked, " must not be negative");
        // Enough rows that adding to the weight's gradient costs little beside computing it.
        constexpr std::int64_t logits_at_once = std::int64_t{32} << 20, least_rows = 256;
        const std::int64_t chosen = std::max(least_rows, logits_at_once / std::max<std::int64_t>(1, weight_.size(0)));
        return asked ? asked : chosen;
    }

    void run_chunk(std::int64_t first, std::int64_t last, const Tensor& losses) {
        const Device device = x_.device();
        const Tensor x = slice(x_, 0, first, last), targets = slice(targets_, 0, first, last);
        const Tensor logits = Tensor::empty({last - first, weight_.size(0)}, dtype_, device);
        const Tensor log_sums = Tensor::empty({last - first}, dtype_, device);
        const auto gemm = kernels::gemm.on(device);
        gemm(x.view(), transpose(weight_, 0, 1).view(), {}, logits.view(), {});
        kernels::cross_entropy.on(device)(logits.view(), targets.view(), rule_, slice(losses, 0, first, last).view(),
                                          log_sums.view());
        if (!x_gradient.defined() && !weight_gradient.defined()) return;
        // In place, but for 16-bit operands, whose products want a gradient of their own dtype.
        const Tensor gradient = x_.dtype() == dtype_ ? logits : Tensor::empty(logits.shape(), x_.dtype(), device);
        kernels::cross_entropy_backward.on(device)(logits.view(), targets.view(), log_sums.view(),
                                                   Tensor::scalar(1, dtype_, device).view(), rule_, gradient.view());
        if (x_gradient.defined())
            gemm(gradient.view(), weight_.view(), {}, slice(x_gradient, 0, first, last).view(), {});
        if (weight_gradient.defined())
            gemm(transpose(gradient, 0, 1).view(), x.view(), {}, weight_gradient.view(),
                 {.beta = first > 0 ? 1.0 : 0.0});
    }

    Tensor x_, weight_, targets_;
    kernels::CrossEntropyRule rule_;
    DType dtype_;
    std::int64_t chunk_;
};

// gradient · factor, over the gradient's own memory.
Tensor scaled_in_place(const Tensor& gradient, const Tensor& factor, DType dtype) {
    kernels::mul.on(gradient.device())(gradient.view(), expand(factor, gradient.shape()).view(), gradient.view());
    return gradient.to(dtype);
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
    check(logits.rank() >= 1 && logits.size(-1) > 0, "cross_entropy: logits of ", logits.shape(), " have no classes");
    check_targets("cross_entropy", logits, targets);
    const Tensor rows = rows_of(logits), classes = reshape(targets, {rows.size(0)});
    const DType dtype = compute_dtype(logits.dtype());
    const Tensor scale = row_scale(classes, rows.size(1), options.ignore_index, options.reduction, dtype);
    const kernels::CrossEntropyRule rule{options.ignore_index, options.label_smoothing, options.z_loss};
    const Tensor losses = Tensor::empty({rows.size(0)}, dtype, logits.device()), log_sums = losses.empty_like();
    kernels::cross_entropy.on(logits.device())(rows.view(), classes.view(), rule, losses.view(), log_sums.view());
    return record("cross_entropy", mul(sum_to(losses, {}), scale), {logits},
                  [rows, classes, log_sums, scale, rule, shape = logits.shape()](const Tensor& gradient) -> Gradients {
                      const Tensor out = rows.empty_like(), factor = mul(gradient, scale);
                      kernels::cross_entropy_backward.on(rows.device())(rows.view(), classes.view(), log_sums.view(),
                                                                        factor.view(), rule, out.view());
                      return {reshape(out, shape)};
                  });
}

Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& targets,
                            const LinearCrossEntropyOptions& options) {
    check(weight.rank() == 2 && x.rank() >= 1 && x.size(-1) == weight.size(1) && weight.size(0) > 0,
          "linear_cross_entropy: x of ", x.shape(), " does not fit a weight of ", weight.shape());
    const bool is_narrow = weight.dtype() == DType::BF16 || weight.dtype() == DType::F16;
    if (matmul_input_dtype(x, weight) != x.dtype())
        return linear_cross_entropy(cast(x, matmul_input_dtype(x, weight)), weight, targets, options);
    if (x.dtype() == DType::F32 && (is_narrow || is_quantised(weight.dtype()))) {
        const Tensor wide = is_narrow ? cast(weight, x.dtype()) : weight.detach().to(x.dtype());
        return linear_cross_entropy(x, wide, targets, options);
    }
    check(is_float(x.dtype()) && x.dtype() == weight.dtype(), "linear_cross_entropy: needs one float dtype, not ",
          x.dtype(), " and ", weight.dtype());
    check(x.device() == weight.device(), "linear_cross_entropy: devices ", x.device(), " and ", weight.device(),
          " differ");
    check_targets("linear_cross_entropy", x, targets);
    const Tensor rows = rows_of(x), classes = reshape(targets, {rows.size(0)});
    const Tensor scale =
        row_scale(classes, weight.size(0), options.ignore_index, options.reduction, compute_dtype(x.dtype()));
    ChunkedLoss chunks(rows, weight.detach(), classes, options);
    const Tensor total = chunks.run(recording() && x.requires_grad(), recording() && weight.requires_grad());
    return record("linear_cross_entropy", mul(total, scale), {x, weight},
                  [scale, dx = chunks.x_gradient, dw = chunks.weight_gradient, shape = x.shape(),
                   dtype = x.dtype()](const Tensor& gradient) -> Gradients {
                      const Tensor factor = mul(gradient, scale);
                      return {dx.defined() ? reshape(scaled_in_place(dx, factor, dtype), shape) : Tensor(),
                              dw.defined() ? scaled_in_place(dw, factor, dtype) : Tensor()};
                  });
}

}  // namespace tessera::ops
