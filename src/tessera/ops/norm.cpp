#include "tessera/ops/norm.h"

#include <array>

#include "tessera/kernels/norm.h"
#include "tessera/ops/compute_dtype.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

struct Norm {
    const char* op;
    bool centred;  // layer norm
    double eps, weight_offset;
};

void check_vector(const char* op, const char* which, const Tensor& x, const Tensor& vector) {
    if (!vector.defined()) return;
    check(vector.rank() == 1 && vector.size(0) == x.size(-1), op, ": ", which, " ", vector.shape(),
          " does not fit the rows of x ", x.shape());
    check(vector.dtype() == x.dtype(), op, ": x is ", x.dtype(), ", ", which, " is ", vector.dtype());
    check(vector.device() == x.device(), op, ": x is on ", x.device(), ", ", which, " on ", vector.device());
}

void check_operands(const Norm& norm, const Tensor& x, const Tensor& weight, const Tensor& bias) {
    check(x.defined() && x.rank() >= 1, norm.op, ": needs at least one dimension, not ", x.shape());
    check(is_float(x.dtype()), norm.op, ": needs a float dtype, not ", x.dtype());
    check_vector(norm.op, "weight", x, weight);
    check_vector(norm.op, "bias", x, bias);
}

void check_residual(const Norm& norm, const Tensor& x, const Tensor& residual) {
    check(x.shape() == residual.shape(), norm.op, ": x ", x.shape(), " and residual ", residual.shape(), " differ");
    check(x.dtype() == residual.dtype(), norm.op, ": x is ", x.dtype(), ", residual is ", residual.dtype());
    check(x.device() == residual.device(), norm.op, ": x is on ", x.device(), ", residual on ", residual.device());
}

// What both directions need of a row.
struct Statistics {
    Tensor mean, rstd;
};

Statistics run_forward(const Norm& norm, const Tensor& x, const Tensor& residual, const Tensor& weight,
                       const Tensor& bias, const Tensor& out, const Tensor& sum) {
    Shape rows;
    for (int i = 0; i + 1 < x.rank(); ++i) rows.push_back(x.shape()[i]);
    const DType dtype = compute_dtype(x.dtype());
    Statistics statistics;
    if (norm.centred) statistics.mean = Tensor::empty(rows, dtype, x.device());
    statistics.rstd = Tensor::empty(rows, dtype, x.device());
    const auto& slot = norm.centred ? kernels::layer_norm : kernels::rms_norm;
    slot.on(x.device())({.x = x.view(),
                         .residual = residual.view(),
                         .weight = weight.view(),
                         .bias = bias.view(),
                         .weight_offset = norm.weight_offset,
                         .eps = norm.eps,
                         .out = out.view(),
                         .sum = sum.view(),
                         .mean = statistics.mean.view(),
                         .rstd = statistics.rstd.view()});
    return statistics;
}

// Everything the backward closures keep. x is the sum where a residual was added.
struct Saved {
    Norm norm;
    Tensor x, weight;
    Statistics statistics;
    bool wants_x, wants_weight, wants_bias;
};

struct NormGradients {
    Tensor x, weight, bias;
};

NormGradients run_backward(const Saved& saved, const Tensor& dout, const Tensor& sum_gradient) {
    const Tensor& x = saved.x;
    const auto vector = [&](bool wanted) {
        return wanted ? Tensor::empty({x.size(-1)}, x.dtype(), x.device()) : Tensor();
    };
    const NormGradients gradients{saved.wants_x ? x.empty_like() : Tensor(), vector(saved.wants_weight),
                                  vector(saved.wants_bias)};
    const auto& slot = saved.norm.centred ? kernels::layer_norm_backward : kernels::rms_norm_backward;
    slot.on(x.device())({.x = x.view(),
                         .mean = saved.statistics.mean.view(),
                         .rstd = saved.statistics.rstd.view(),
                         .weight = saved.weight.view(),
                         .weight_offset = saved.norm.weight_offset,
                         .dout = dout.view(),
                         .sum_gradient = sum_gradient.view(),
                         .dx = gradients.x.view(),
                         .dweight = gradients.weight.view(),
                         .dbias = gradients.bias.view()});
    return gradients;
}

bool wants(const Tensor& x) { return x.defined() && x.requires_grad(); }

Tensor normalise(const Norm& norm, const Tensor& x, const Tensor& weight, const Tensor& bias) {
    check_operands(norm, x, weight, bias);
    const Tensor out = x.empty_like();
    const Statistics statistics = run_forward(norm, x, {}, weight, bias, out, {});
    const Saved saved{norm, x.detach(), weight.detach(), statistics, wants(x), wants(weight), wants(bias)};
    return record(norm.op, out, {x, weight, bias}, [saved](const Tensor& dout) -> Gradients {
        const NormGradients gradients = run_backward(saved, dout, {});
        return {gradients.x, gradients.weight, gradients.bias};
    });
}

AddNorm add_and_normalise(const Norm& norm, const Tensor& x, const Tensor& residual, const Tensor& weight,
                          const Tensor& bias) {
    check_operands(norm, x, weight, bias);
    check_residual(norm, x, residual);
    const Tensor out = x.empty_like(), sum = x.empty_like();
    const Statistics statistics = run_forward(norm, x, residual, weight, bias, out, sum);
    if (const std::array inputs{x, residual, weight, bias}; !is_recorded(inputs)) return {out, sum};
    const Saved saved{norm,          sum.detach(), weight.detach(), statistics, wants(x) || wants(residual),
                      wants(weight), wants(bias)};
    const auto outputs =
        record(norm.op, std::vector<Tensor>{out, sum}, {x, residual, weight, bias}, [saved](const Gradients& given) {
            const NormGradients gradients = run_backward(saved, given[0], given[1]);
            return Gradients{gradients.x, gradients.x, gradients.weight, gradients.bias};
        });
    return {outputs[0], outputs[1]};
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
    return normalise({"layer_norm", true, eps, 0}, x, weight, bias);
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, const RmsNormOptions& options) {
    return normalise({"rms_norm", false, options.eps, options.weight_offset}, x, weight, {});
}

AddNorm add_layer_norm(const Tensor& x, const Tensor& residual, const Tensor& weight, const Tensor& bias, double eps) {
    return add_and_normalise({"add_layer_norm", true, eps, 0}, x, residual, weight, bias);
}

AddNorm add_rms_norm(const Tensor& x, const Tensor& residual, const Tensor& weight, const RmsNormOptions& options) {
    return add_and_normalise({"add_rms_norm", false, options.eps, options.weight_offset}, x, residual, weight, {});
}

}  // namespace tessera::ops
