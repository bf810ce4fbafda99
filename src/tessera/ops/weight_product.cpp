#include "tessera/ops/weight_product.h"

#include <algorithm>

#include "tessera/kernels/gemm.h"
#include "tessera/kernels/quantised_gemv.h"
#include "tessera/ops/compute_dtype.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

// 4 MiB of f32: much is multiplied at once, and still near.
constexpr std::int64_t panel_elements = std::int64_t{1} << 20;

// Calls body(first row, last row, those rows decoded) over a quantised weight.
template <class Body>
void for_panels(const Tensor& weight, DType dtype, Body&& body) {
    const std::int64_t rows = weight.size(0), width = std::max<std::int64_t>(1, weight.size(1));
    const std::int64_t step = std::max<std::int64_t>(16, panel_elements / width);
    const Tensor room = Tensor::empty({std::min(step, rows), weight.size(1)}, dtype, weight.device());
    for (std::int64_t first = 0; first < rows; first += step) {
        const std::int64_t last = std::min(rows, first + step);
        const Tensor panel = slice(room, 0, 0, last - first);
        panel.copy_from(slice(weight, 0, first, last));
        body(first, last, panel);
    }
}

bool is_narrower(const Tensor& weight, const Tensor& x) {
    return x.dtype() == DType::F32 && (weight.dtype() == DType::BF16 || weight.dtype() == DType::F16);
}

Tensor result_like(const Tensor& out, DType dtype) {
    return out.dtype() == dtype ? out : Tensor::empty(out.shape(), dtype, out.device());
}

void copy_back(const Tensor& result, const Tensor& out) {
    if (result.storage() != out.storage()) out.copy_from(result);
}

}  // namespace

void check_weight(const char* op, const Tensor& x, const Tensor& weight) {
    const bool fits = weight.dtype() == x.dtype() || is_quantised(weight.dtype()) || is_narrower(weight, x);
    check(is_float(x.dtype()) && fits, op, ": needs one float dtype, or a narrower weight, not ", x.dtype(), " and ",
          weight.dtype());
    check(x.device() == weight.device(), op, ": devices ", x.device(), " and ", weight.device(), " differ");
}

void weight_product(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& out) {
    const NoGrad no_grad;
    const auto gemm = kernels::gemm.on(x.device());
    if (!is_quantised(weight.dtype())) {
        const Tensor same = bias.defined() ? bias.to(out.dtype()) : bias;
        return gemm(x.view(), transpose(weight, 0, 1).view(), same.view(), out.view(), {});
    }
    const DType dtype = compute_dtype(x.dtype());
    const Tensor rows = x.to(dtype), result = result_like(out, dtype);
    const Tensor wide_bias = bias.defined() ? bias.to(dtype) : bias;
    if (dtype == DType::F32 && x.size(0) <= kernels::most_quantised_vectors) {
        kernels::quantised_gemv.on(x.device())(rows.contiguous().view(), weight.view(), wide_bias.view(),
                                               result.view());
        return copy_back(result, out);
    }
    for_panels(weight, dtype, [&](std::int64_t first, std::int64_t last, const Tensor& panel) {
        const Tensor bias_here = bias.defined() ? slice(wide_bias, 0, first, last) : Tensor();
        gemm(rows.view(), transpose(panel, 0, 1).view(), bias_here.view(), slice(result, 1, first, last).view(), {});
    });
    copy_back(result, out);
}

void linear_input_gradient(const Tensor& gradient, const Tensor& weight, const Tensor& out, bool adds) {
    const NoGrad no_grad;
    const auto gemm = kernels::gemm.on(gradient.device());
    if (!is_quantised(weight.dtype()))
        return gemm(gradient.view(), weight.view(), {}, out.view(), {.beta = adds ? 1.0 : 0.0});
    const DType dtype = compute_dtype(gradient.dtype());
    const Tensor wide = gradient.to(dtype), result = result_like(out, dtype);
    if (!adds)
        result.fill(0);
    else if (result.storage() != out.storage())
        result.copy_from(out);
    for_panels(weight, dtype, [&](std::int64_t first, std::int64_t last, const Tensor& panel) {
        gemm(slice(wide, 1, first, last).view(), panel.view(), {}, result.view(), {.beta = 1});
    });
    copy_back(result, out);
}

}  // namespace tessera::ops
