#include "tessera/ops/linear.h"

#include "tessera/kernels/gemm.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/views.h"
#include "tessera/ops/weight_product.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

// outputᵀ · x, straight into the buffer where the weight collects its gradient if it has one.
Tensor weight_gradient(const Tensor& output, const Tensor& x, const Tensor& weight) {
    const Tensor* buffer = gradient_buffer(weight);
    const bool fits = buffer && (buffer->dtype() == x.dtype() || buffer->dtype() == DType::F32);
    if (!fits) return matmul(output, x, {.transpose_a = true});
    kernels::gemm.on(x.device())(transpose(output, 0, 1).view(), x.view(), {}, buffer->view(), {.beta = 1});
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
        factor = reshape(x.detach(), {rows, x.size(-1)}).to(matmul_input_dtype(x, map.weight));
    }
    Tensor factor;  // (rows, in)
    Shape shape;
    DType dtype;
    bool wants_gradient;
};

Tensor mapped(const LinearInput& input, const LinearMap& map, std::optional<DType> result) {
    const std::int64_t rows = input.factor.size(0), width = map.weight.size(0);
    Shape shape = input.shape;
    shape[shape.rank() - 1] = width;
    const Tensor out = Tensor::empty(shape, result.value_or(input.dtype), input.factor.device());
    weight_product(input.factor, map.weight.detach(), map.bias.detach(), out.with_layout({rows, width}, {width, 1}, 0));
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
        if (dx.defined()) linear_input_gradient(factor, weight.detach(), reshape(dx, x.shape()), i > 0);
        gradients.push_back(weight.requires_grad() ? weight_gradient(factor, x, weight) : Tensor());
        gradients.push_back(bias.requires_grad() ? sum_to(gradient, {weight.size(0)}) : Tensor());
    }
    return gradients;
}

}  // namespace

DType matmul_input_dtype(const Tensor& x, const Tensor& weight) {
    const bool is_mixed = x.dtype() == DType::F32 && weight.dtype() == DType::BF16;
    return is_mixed && weight.requires_grad() ? DType::BF16 : x.dtype();
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, std::optional<DType> result) {
    const LinearMap map{weight, bias};
    check_map(x, map);
    const LinearInput input(x, map);
    return record("linear", mapped(input, map, result), {x, weight, bias},
                  [input, map](const Tensor& gradient) -> Gradients {
                      return linear_gradients(input, std::span(&map, 1), std::span(&gradient, 1));
                  });
}

std::vector<Tensor> linear(const Tensor& x, std::span<const LinearMap> maps, std::optional<DType> result) {
    check(!maps.empty(), "linear: no weights");
    std::vector<Tensor> inputs{x}, outputs;
    for (const LinearMap& map : maps) {
        check_map(x, map);
        check(matmul_input_dtype(x, map.weight) == matmul_input_dtype(x, maps[0].weight), "linear: weights of ",
              maps[0].weight.dtype(), " and ", map.weight.dtype(), " side by side");
        inputs.insert(inputs.end(), {map.weight, map.bias});
    }
    const LinearInput input(x, maps[0]);
    for (const LinearMap& map : maps) outputs.push_back(mapped(input, map, result));
    return record("linear", std::move(outputs), inputs,
                  [input, maps = std::vector(maps.begin(), maps.end())](const Gradients& gradients) -> Gradients {
                      return linear_gradients(input, maps, gradients);
                  });
}

}  // namespace tessera::ops
