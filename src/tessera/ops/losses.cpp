#include "tessera/ops/losses.h"

#include <algorithm>

#include "tessera/kernels/contrastive.h"
#include "tessera/kernels/gemm.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/compute_dtype.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

void check_alike(const char* op, const Tensor& a, const Tensor& b) {
    check(a.shape() == b.shape(), op, ": shapes ", a.shape(), " and ", b.shape(), " differ");
    check(is_float(a.dtype()) && a.dtype() == b.dtype(), op, ": needs one float dtype, not ", a.dtype(), " and ",
          b.dtype());
    check(a.device() == b.device(), op, ": devices ", a.device(), " and ", b.device(), " differ");
}

void check_pairs(const char* op, const Tensor& image, const Tensor& text, const Tensor& log_scale) {
    check_alike(op, image, text);
    check(image.rank() == 2 && image.size(0) > 0, op, ": needs features of (pairs, width), not ", image.shape());
    check(log_scale.elements() == 1 && is_float(log_scale.dtype()), op, ": log_scale must be one float, not ",
          log_scale.dtype(), " of ", log_scale.shape());
}

// image · textᵀ, kept in f32 for 16-bit features: scaled by 100, bf16 would leave steps of a half.
Tensor similarities(const Tensor& image, const Tensor& text) {
    const Tensor out = Tensor::empty({image.size(0), text.size(0)}, compute_dtype(image.dtype()), image.device());
    const auto gemm = kernels::gemm.on(image.device());
    const Tensor left = image.detach(), right = text.detach();
    gemm(left.view(), transpose(right, 0, 1).view(), {}, out.view(), {});
    return record("similarities", out, {image, text}, [left, right, gemm](const Tensor& gradient) -> Gradients {
        const Tensor rounded = gradient.to(left.dtype()), dx = left.empty_like(), dy = right.empty_like();
        gemm(rounded.view(), right.view(), {}, dx.view(), {});
        gemm(transpose(rounded, 0, 1).view(), left.view(), {}, dy.view(), {});
        return {dx, dy};
    });
}

Tensor run_scale_by_exp(const Tensor& x, const Tensor& log_factor) {
    const Tensor dense = x.contiguous(), out = dense.empty_like();
    kernels::scale_by_exp.on(x.device())(dense.view(), log_factor.view(), out.view());
    return out;
}

// x · exp(log_factor), where log_factor is one element of any float dtype.
Tensor scale_by_exp(const Tensor& x, const Tensor& log_factor) {
    const Tensor exponent = reshape(log_factor.detach(), {}).to(x.dtype());
    const Tensor out = run_scale_by_exp(x.detach(), exponent);
    return record(
        "scale_by_exp", out, {x, log_factor},
        [out = out.detach(), exponent, shape = log_factor.shape(),
         dtype = log_factor.dtype()](const Tensor& gradient) -> Gradients {
            return {run_scale_by_exp(gradient, exponent), reshape(sum_to(mul(gradient, out), {}).to(dtype), shape)};
        });
}

// x + bias, where bias is one element of any float dtype.
Tensor add_scalar(const Tensor& x, const Tensor& bias) {
    const Tensor out = add(x.detach(), reshape(bias.detach(), {}).to(x.dtype()));
    return record("add_scalar", out, {x, bias},
                  [shape = bias.shape(), dtype = bias.dtype()](const Tensor& gradient) -> Gradients {
                      return {gradient, reshape(sum_to(gradient, {}).to(dtype), shape)};
                  });
}

// Σ over all pairs of −log σ(± logits), divided by the number of rows. The gradient is taken on the way.
Tensor pair_sigmoid(const Tensor& logits) {
    const Tensor losses = Tensor::empty({logits.size(0)}, logits.dtype(), logits.device());
    const Tensor slope = recording() && logits.requires_grad() ? logits.empty_like() : Tensor();
    kernels::pair_sigmoid.on(logits.device())(logits.view(), losses.view(), slope.view());
    const double per_row = 1.0 / static_cast<double>(logits.size(0));
    const Tensor loss = scale(sum_to(losses, {}), per_row);
    return record("pair_sigmoid", loss, {logits}, [slope, per_row](const Tensor& gradient) -> Gradients {
        return {mul(slope, scale(gradient, per_row))};
    });
}

}  // namespace

Tensor mse(const Tensor& a, const Tensor& b) {
    check_alike("mse", a, b);
    check(a.elements() > 0, "mse: no elements in ", a.shape());
    const DType dtype = compute_dtype(a.dtype());
    const Tensor difference = sub(a.detach().to(dtype), b.detach().to(dtype));
    const double share = 1.0 / static_cast<double>(a.elements());
    return record(
        "mse", scale(sum_to(mul(difference, difference), {}), share), {a, b},
        [difference, share, dtype = a.dtype(), wants_b = b.requires_grad()](const Tensor& gradient) -> Gradients {
            const Tensor slope = mul(difference, scale(gradient, 2 * share)).to(dtype);
            return {slope, wants_b ? scale(slope, -1) : Tensor()};
        });
}

Tensor sigmoid_contrastive(const Tensor& image, const Tensor& text, const Tensor& log_scale, const Tensor& bias) {
    check_pairs("sigmoid_contrastive", image, text, log_scale);
    check(bias.elements() == 1 && is_float(bias.dtype()), "sigmoid_contrastive: bias must be one float, not ",
          bias.dtype(), " of ", bias.shape());
    return pair_sigmoid(add_scalar(scale_by_exp(similarities(image, text), log_scale), bias));
}

Tensor l2_normalise(const Tensor& x, double eps) {
    check(x.rank() >= 1, "l2_normalise: a scalar has no rows");
    check(eps > 0, "l2_normalise: eps ", eps, " must be positive");
    const std::int64_t width = x.size(-1), count = width ? x.elements() / width : 0;
    const auto as_rows = [=](const Tensor& tensor) { return reshape(tensor, {count, width}).contiguous(); };
    const Tensor rows = as_rows(x.detach()), out = rows.empty_like();
    const Tensor inverse_norms = Tensor::empty({count}, compute_dtype(x.dtype()), x.device());
    kernels::l2_normalise.on(x.device())(rows.view(), eps, out.view(), inverse_norms.view());
    return record("l2_normalise", reshape(out, x.shape()), {x},
                  [out, inverse_norms, eps, as_rows, shape = x.shape()](const Tensor& gradient) -> Gradients {
                      const Tensor dx = out.empty_like();
                      kernels::l2_normalise_backward.on(out.device())(as_rows(gradient).view(), out.view(),
                                                                      inverse_norms.view(), eps, dx.view());
                      return {reshape(dx, shape)};
                  });
}

}  // namespace tessera::ops
