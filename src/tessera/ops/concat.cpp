#include "tessera/ops/concat.h"

#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {

namespace {

Backward cut_apart(std::span<const Tensor> parts, int dim) {
    std::vector<std::int64_t> sizes;
    std::vector<bool> wanted;
    for (const Tensor& part : parts) {
        sizes.push_back(part.shape()[dim]);
        wanted.push_back(part.requires_grad());
    }
    return [dim, sizes, wanted](const Tensor& gradient) -> Gradients {
        Gradients pieces = split(gradient, sizes, dim);
        for (std::size_t i = 0; i < pieces.size(); ++i)
            if (!wanted[i]) pieces[i] = Tensor();
        return pieces;
    };
}

}  // namespace

Tensor concat(std::span<const Tensor> parts, int dim) {
    check(!parts.empty(), "concat: nothing to put together");
    const Tensor& first = parts[0];
    dim = first.shape().wrap(dim);
    Shape shape = first.shape();
    std::int64_t whole = 0;
    for (const Tensor& part : parts) {
        check(part.dtype() == first.dtype(), "concat: dtypes ", first.dtype(), " and ", part.dtype(), " differ");
        check(part.device() == first.device(), "concat: devices ", first.device(), " and ", part.device(), " differ");
        Shape others = part.shape();
        if (others.rank() == shape.rank()) others[dim] = shape[dim];
        check(others == shape, "concat: shapes ", first.shape(), " and ", part.shape(), " differ beyond dimension ",
              dim);
        whole += part.shape()[dim];
    }
    shape[dim] = whole;
    const Tensor out = Tensor::empty(shape, first.dtype(), first.device());
    std::int64_t begin = 0;
    for (const Tensor& part : parts) {
        slice(out, dim, begin, begin + part.shape()[dim]).copy_from(part.detach());
        begin += part.shape()[dim];
    }
    if (!is_recorded(parts)) return out;
    return record("concat", out, std::vector(parts.begin(), parts.end()), cut_apart(parts, dim));
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, int dim) {
    dim = x.shape().wrap(dim);
    std::vector<Tensor> pieces;
    std::int64_t begin = 0;
    for (const std::int64_t size : sizes) {
        check(size >= 0 && begin + size <= x.shape()[dim], "split: sizes go past dimension ", dim, " of ", x.shape());
        pieces.push_back(slice(x.detach(), dim, begin, begin + size));
        begin += size;
    }
    check(begin == x.shape()[dim], "split: sizes add up to ", begin, ", not to dimension ", dim, " of ", x.shape());
    return record("split", std::move(pieces), {x},
                  [dim](const Gradients& gradients) -> Gradients { return {concat(gradients, dim)}; });
}

}  // namespace tessera::ops
