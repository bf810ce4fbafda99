#include "tessera/ops/rope.h"

#include "tessera/kernels/rope.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

void check_operands(const Tensor& x, const Tensor& positions, const Tensor& inverse_frequencies) {
    check(x.defined() && x.rank() == 4, "rope: x is (B, T, H, D), not ", x.shape());
    check(is_float(x.dtype()), "rope: needs a float dtype, not ", x.dtype());
    check(positions.dtype() == DType::I64, "rope: positions are i64, not ", positions.dtype());
    const bool shared = positions.shape() == Shape{x.size(1)};
    check(shared || positions.shape() == Shape{x.size(0), x.size(1)}, "rope: positions ", positions.shape(),
          " are neither (T) nor (B, T) of x ", x.shape());
    check(inverse_frequencies.dtype() == DType::F32 && inverse_frequencies.rank() == 1,
          "rope: inverse frequencies are an f32 vector, not ", inverse_frequencies.dtype(), " ",
          inverse_frequencies.shape());
    check(2 * inverse_frequencies.elements() <= x.size(3), "rope: ", inverse_frequencies.elements(),
          " pairs do not fit the heads of x ", x.shape());
    check(!inverse_frequencies.requires_grad(), "rope: inverse frequencies have no gradient");
    check(positions.device() == x.device() && inverse_frequencies.device() == x.device(), "rope: x is on ", x.device(),
          ", positions on ", positions.device(), ", inverse frequencies on ", inverse_frequencies.device());
}

// Positions as (B, T), shared ones repeated by a stride of 0.
Tensor per_batch(const Tensor& positions, std::int64_t batch) {
    if (positions.rank() == 2) return positions;
    return positions.with_layout({batch, positions.size(0)}, {0, positions.stride(0)}, positions.offset());
}

Tensor rotate(const Tensor& x, const Tensor& positions, const Tensor& inverse_frequencies, const RopeOptions& options,
              bool inverse) {
    const Tensor out = x.empty_like();
    kernels::rope.on(x.device())({.x = x.view(),
                                  .positions = positions.view(),
                                  .inverse_frequencies = inverse_frequencies.view(),
                                  .out = out.view(),
                                  .adjacent = options.pairing == RopePairing::Adjacent,
                                  .inverse = inverse,
                                  .magnitude = options.magnitude});
    return out;
}

}  // namespace

Tensor rope(const Tensor& x, const Tensor& positions, const Tensor& inverse_frequencies, const RopeOptions& options) {
    check_operands(x, positions, inverse_frequencies);
    const Tensor at = per_batch(positions, x.size(0)), frequencies = inverse_frequencies.contiguous();
    return record("rope", rotate(x, at, frequencies, options, false), {x},
                  [at, frequencies, options](const Tensor& gradient) -> Gradients {
                      return {rotate(gradient, at, frequencies, options, true)};
                  });
}

}  // namespace tessera::ops
