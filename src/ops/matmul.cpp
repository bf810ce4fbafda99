#include "ops/matmul.h"

#include "kernels/gemm.h"
#include "kernels/reduce.h"
#include "ops/binary.h"
#include "ops/views.h"
#include "ops/weight_product.h"
#include "tensor/tape.h"

namespace tessera::ops {
namespace {

Tensor swapped(const Tensor& x) {
    Shape shape = x.shape(), strides = x.strides();
    std::swap(shape[x.rank() - 1], shape[x.rank() - 2]);
    std::swap(strides[x.rank() - 1], strides[x.rank() - 2]);
    return x.with_layout(shape, strides, x.offset());
}

Shape batch_of(const Tensor& x) {
    Shape batch;
    for (int dim = 0; dim + 2 < x.rank(); ++dim) batch.push_back(x.shape()[dim]);
    return batch;
}

Shape with_matrix(Shape batch, std::int64_t rows, std::int64_t columns) {
    batch.push_back(rows);
    batch.push_back(columns);
    return batch;
}

// a (…, M, K) · b (…, K, N), not recorded.
Tensor product(const Tensor& a, const Tensor& b) {
    const NoGrad no_grad;
    const Shape batch = broadcast(batch_of(a), batch_of(b), "matmul");
    const Tensor out = Tensor::empty(with_matrix(batch, a.size(-2), b.size(-1)), a.dtype(), a.device());
    kernels::gemm.on(a.device())(expand(a, with_matrix(batch, a.size(-2), a.size(-1))).view(),
                                 expand(b, with_matrix(batch, b.size(-2), b.size(-1))).view(), {}, out.view(), {});
    return out;
}

void check_operands(const char* op, const Tensor& a, const Tensor& b) {
    check(is_float(a.dtype()) && a.dtype() == b.dtype(), op, ": needs one float dtype, not ", a.dtype(), " and ",
          b.dtype());
    check(a.device() == b.device(), op, ": devices ", a.device(), " and ", b.device(), " differ");
}

// The gradient of one operand of left · right, in the orientation that the operand is stored in.
Tensor operand_gradient(const Tensor& left, const Tensor& right, bool transpose, const Shape& shape) {
    return sum_to(transpose ? product(swapped(right), swapped(left)) : product(left, right), shape);
}

// outputᵀ · x, straight into the buffer where the weight collects its gradient if it has one.
Tensor weight_gradient(const Tensor& output, const Tensor& x, const Tensor& weight) {
    const Tensor* buffer = gradient_buffer(weight);
    const bool fits = buffer && (buffer->dtype() == x.dtype() || buffer->dtype() == DType::F32);
    if (!fits) return product(swapped(output), x);
    kernels::gemm.on(x.device())(swapped(output).view(), x.view(), {}, buffer->view(), {.beta = 1});
    return {};
}

void check_map(const Tensor& x, const LinearMap& map) {
    const auto& [weight, bias] = map;
    check_weight("linear", x, weight);
    check(weight.rank() == 2 && x.rank() >= 1 && x.size(-1) == weight.size(1), "linear: x of ", x.shape(),
          " does not fit a weight of ", weight.shape());
    check(!bias.defined() || (bias.rank() == 1 && bias.size(0) == weight.size(0)), "linear: bias of ", bias.shape(),
          " does not fit a weight of ", weight.shape());
    if (bias.defined()) check_weight("linear", x, bias);
}

// What linear keeps of x, and needs to know of it.
struct LinearInput {
    LinearInput(const Tensor& x, const LinearMap& map)
        : shape(x.shape()), dtype(x.dtype()), wants_gradient(x.requires_grad()) {
        std::int64_t rows = 1;  // also where they are empty
        for (int dim = 0; dim + 1 < x.rank(); ++dim) rows *= x.size(dim);
        factor = reshape(x.detach(), {rows, x.size(-1)}).to(factor_dtype(x, map.weight));
    }
    Tensor factor;  // (rows, in)
    Shape shape;
    DType dtype;
    bool wants_gradient;
};

Tensor mapped(const Tensor& x, const LinearInput& input, const LinearMap& map, std::optional<DType> result) {
    const std::int64_t rows = input.factor.size(0), width = map.weight.size(0);
    Shape shape = input.shape;
    shape[x.rank() - 1] = width;
    const Tensor out = Tensor::empty(shape, result.value_or(x.dtype()), x.device());
    multiply_by_weight(input.factor, map.weight.detach(), map.bias.detach(),
                       out.with_layout({rows, width}, {width, 1}, 0));
    return out;
}

// Of x, then of each map's weight and bias.
Gradients linear_gradients(const LinearInput& input, std::span<const LinearMap> maps,
                           std::span<const Tensor> output_gradients) {
    const Tensor& x = input.factor;
    const Tensor dx = input.wants_gradient ? Tensor::empty(input.shape, input.dtype, x.device()) : Tensor();
    Gradients gradients{dx};
    for (std::size_t i = 0; i < maps.size(); ++i) {
        const auto& [weight, bias] = maps[i];
        const Tensor gradient = reshape(output_gradients[i], {x.size(0), weight.size(0)});
        const Tensor factor = gradient.to(x.dtype());
        if (dx.defined()) multiply_back_by_weight(factor, weight.detach(), reshape(dx, x.shape()), i > 0);
        gradients.push_back(weight.requires_grad() ? weight_gradient(factor, x, weight) : Tensor());
        gradients.push_back(bias.requires_grad() ? sum_to(gradient, {weight.size(0)}) : Tensor());
    }
    return gradients;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
    check_operands("matmul", a, b);
    check(a.rank() >= 2 && b.rank() >= 2, "matmul: needs matrices, not ", a.shape(), " and ", b.shape());
    check(a.size(options.transpose_a ? -2 : -1) == b.size(options.transpose_b ? -1 : -2), "matmul: ", a.shape(),
          options.transpose_a ? " transposed" : "", " does not fit ", b.shape(),
          options.transpose_b ? " transposed" : "");
    if (b.rank() == 2 && a.rank() > 2 && !options.transpose_a) {
        // One matrix for the whole batch: its rows are rows of one product.
        Shape shape = a.shape();
        shape[a.rank() - 1] = b.size(options.transpose_b ? 0 : 1);
        const std::int64_t rows = a.elements() / std::max<std::int64_t>(1, a.size(-1));
        if (a.elements() > 0) return reshape(matmul(reshape(a, {rows, a.size(-1)}), b, options), shape);
    }
    const Tensor left = options.transpose_a ? swapped(a) : a.detach();
    const Tensor right = options.transpose_b ? swapped(b) : b.detach();
    return record("matmul", product(left, right), {a, b},
                  [left, right, options, wants_a = a.requires_grad(), wants_b = b.requires_grad(), a_shape = a.shape(),
                   b_shape = b.shape()](const Tensor& gradient) -> Gradients {
                      Gradients out(2);
                      if (wants_a) out[0] = operand_gradient(gradient, swapped(right), options.transpose_a, a_shape);
                      if (wants_b) out[1] = operand_gradient(swapped(left), gradient, options.transpose_b, b_shape);
                      return out;
                  });
}

DType factor_dtype(const Tensor& x, const Tensor& weight) {
    const bool is_mixed = x.dtype() == DType::F32 && weight.dtype() == DType::BF16;
    return is_mixed && weight.requires_grad() ? DType::BF16 : x.dtype();
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, std::optional<DType> result) {
    const LinearMap map{weight, bias};
    check_map(x, map);
    const LinearInput input(x, map);
    return record("linear", mapped(x, input, map, result), {x, weight, bias},
                  [input, map](const Tensor& gradient) -> Gradients {
                      return linear_gradients(input, std::span(&map, 1), std::span(&gradient, 1));
                  });
}

std::vector<Tensor> linear(const Tensor& x, std::span<const LinearMap> maps, std::optional<DType> result) {
    check(!maps.empty(), "linear: no weights");
    std::vector<Tensor> inputs{x}, outputs;
    for (const LinearMap& map : maps) {
        check_map(x, map);
        check(factor_dtype(x, map.weight) == factor_dtype(x, maps[0].weight), "linear: weights of ",
              maps[0].weight.dtype(), " and ", map.weight.dtype(), " side by side");
        inputs.insert(inputs.end(), {map.weight, map.bias});
    }
    const LinearInput input(x, maps[0]);
    for (const LinearMap& map : maps) outputs.push_back(mapped(x, input, map, result));
    return record("linear", std::move(outputs), inputs,
                  [input, maps = std::vector(maps.begin(), maps.end())](const Gradients& gradients) -> Gradients {
                      return linear_gradients(input, maps, gradients);
                  });
}

}  // namespace tessera::ops
