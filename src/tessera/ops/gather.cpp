#include "tessera/ops/gather.h"

#include "tessera/kernels/gather.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/compute_dtype.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

void check_index(const char* who, const Tensor& x, int dim, const Tensor& index) {
    check(index.dtype() == DType::I64 || index.dtype() == DType::I32, who, ": the index must be i64 or i32, not ",
          index.dtype());
    check(index.device() == x.device(), who, ": devices ", x.device(), " and ", index.device(), " differ");
    bool fits = index.rank() == x.rank();
    for (int i = 0; fits && i < x.rank(); ++i) fits = i == dim || index.shape()[i] <= x.shape()[i];
    check(fits, who, ": an index of ", index.shape(), " does not fit ", x.shape(), " along dimension ", dim);
}

// Sums of 16-bit values are kept in f32 until they are complete.

Tensor corner(Tensor x, const Shape& shape) {
    for (int i = 0; i < shape.rank(); ++i) x = slice(x, i, 0, shape[i]);
    return x;
}

void add_at(const Tensor& sums, int dim, const Tensor& index, const Tensor& source) {
    kernels::scatter_add.on(sums.device())(dim, index.view(), source.to(sums.dtype()).view(), sums.view());
}

}  // namespace

Tensor gather(const Tensor& x, int dim, const Tensor& index) {
    dim = x.shape().wrap(dim);
    check_index("gather", x, dim, index);
    const Tensor out = Tensor::empty(index.shape(), x.dtype(), x.device());
    kernels::gather.on(x.device())(x.view(), dim, index.view(), out.view());
    return record("gather", out, {x}, [dim, index, shape = x.shape()](const Tensor& gradient) -> Gradients {
        const Tensor sums = Tensor::zeros(shape, compute_dtype(gradient.dtype()), gradient.device());
        add_at(sums, dim, index, gradient);
        return {sums.to(gradient.dtype())};
    });
}

Tensor scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
    dim = x.shape().wrap(dim);
    check(is_float(x.dtype()) && x.dtype() == source.dtype(), "scatter_add: needs one float dtype, not ", x.dtype(),
          " and ", source.dtype());
    check_index("scatter_add", x, dim, index);
    bool fits = index.rank() == source.rank();
    for (int i = 0; fits && i < index.rank(); ++i) fits = index.shape()[i] <= source.shape()[i];
    check(fits, "scatter_add: an index of ", index.shape(), " does not fit a source of ", source.shape());
    const Tensor sums = Tensor::empty(x.shape(), compute_dtype(x.dtype()), x.device());
    sums.copy_from(x.detach());
    add_at(sums, dim, index, corner(source.detach(), index.shape()));
    return record("scatter_add", sums.to(x.dtype()), {x, source},
                  [dim, index, shape = source.shape(),
                   wants_source = source.requires_grad()](const Tensor& gradient) -> Gradients {
                      if (!wants_source) return {gradient, Tensor()};
                      const Tensor picked = gather(gradient, dim, index);
                      if (shape == picked.shape()) return {gradient, picked};
                      const Tensor whole = Tensor::zeros(shape, gradient.dtype(), gradient.device());
                      corner(whole, picked.shape()).copy_from(picked);
                      return {gradient, whole};
                  });
}

namespace {

// Rows of a gradient, zero where their id is the padding's.
Tensor without_padding(const Tensor& rows, const Tensor& ids, std::int64_t padding_id) {
    if (padding_id < 0) return rows;
    std::vector<float> kept;
    bool any = false;
    for (const std::int64_t id : ids.to_vector<std::int64_t>()) {
        kept.push_back(id == padding_id ? 0.0f : 1.0f);
        any = any || id == padding_id;
    }
    if (!any) return rows;
    const Tensor mask = Tensor::from(kept, {rows.size(0), 1}).to(rows.dtype()).to(rows.device());
    return mul(rows, expand(mask, rows.shape()));
}

}  // namespace

Tensor embedding(const Tensor& table, const Tensor& ids, std::int64_t padding_id) {
    check(table.rank() == 2, "embedding: the table must be (vocabulary, width), not ", table.shape());
    check(ids.dtype() == DType::I64 || ids.dtype() == DType::I32, "embedding: ids must be i64 or i32, not ",
          ids.dtype());
    check(ids.device() == table.device(), "embedding: devices ", table.device(), " and ", ids.device(), " differ");
    check(is_float(table.dtype()) || is_quantised(table.dtype()), "embedding: a table of ", table.dtype(),
          " has no values to look up");
    const std::int64_t width = table.shape()[1];
    Shape shape = ids.shape();
    shape.push_back(width);
    const Tensor flat_ids = reshape(ids, {ids.elements()});
    const DType dtype = is_quantised(table.dtype()) ? DType::F32 : table.dtype();
    const Tensor out = Tensor::empty({ids.elements(), width}, dtype, table.device());
    kernels::embedding.on(table.device())(table.view(), flat_ids.view(), out.view());
    return record("embedding", out.with_layout(shape, contiguous_strides(shape), 0), {table},
                  [flat_ids, table, from = table.shape(), padding_id](const Tensor& gradient) -> Gradients {
                      const Tensor rows =
                          without_padding(reshape(gradient, {flat_ids.elements(), from[1]}), flat_ids, padding_id);
                      const Tensor* buffer = gradient_buffer(table);
                      if (buffer && buffer->dtype() == rows.dtype() && rows.dtype() == DType::F32) {
                          // A few rows of a large table: touch only those.
                          const Tensor index = expand(reshape(flat_ids, {flat_ids.elements(), 1}), rows.shape());
                          kernels::scatter_add.on(rows.device())(0, index.view(), rows.view(), buffer->view());
                          return {Tensor()};
                      }
                      const Tensor sums = Tensor::empty(from, gradient.dtype(), gradient.device());
                      kernels::embedding_backward.on(gradient.device())(flat_ids.view(), rows.view(), sums.view());
                      return {sums};
                  });
}

}  // namespace tessera::ops
