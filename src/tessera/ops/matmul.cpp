#include "tessera/ops/matmul.h"

#include "tessera/kernels/gemm.h"
#include "tessera/kernels/reduce.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

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

}  // namespace tessera::ops
