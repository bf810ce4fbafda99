#include "tessera/ops/reduce.h"

#include "tessera/kernels/gather.h"
#include "tessera/kernels/reduce.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/compute_dtype.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

struct Reduced {
    Shape kept;     // reduced dimensions have size 1
    Shape dropped;  // reduced dimensions are gone
};

Reduced reduced_shapes(const char* who, const Tensor& x, const std::vector<int>& dims) {
    check(is_float(x.dtype()), who, ": needs a float dtype, not ", x.dtype());
    Shape is_reduced = Shape::of_rank(x.rank(), dims.empty() ? 1 : 0);
    for (const int dim : dims) {
        std::int64_t& mark = is_reduced[x.shape().wrap(dim)];
        check(mark == 0, who, ": dimension ", dim, " of ", x.shape(), " is named twice");
        mark = 1;
    }
    Reduced shapes{x.shape(), {}};
    for (int i = 0; i < x.rank(); ++i) {
        if (is_reduced[i])
            shapes.kept[i] = 1;
        else
            shapes.dropped.push_back(x.shape()[i]);
    }
    return shapes;
}

Tensor run_sum(const Slot<void(const View&, const View&)>& slot, const Tensor& x, const Reduced& shapes, bool keep) {
    const Tensor out = Tensor::empty(shapes.kept, x.dtype(), x.device());
    slot.on(x.device())(x.view(), out.view());
    return keep ? out : reshape(out, shapes.dropped);
}

struct Largest {
    Tensor values, indices;  // `dim` has size 1
};

Largest largest(const char* who, const Tensor& x, int dim) {
    check(is_float(x.dtype()), who, ": needs a float dtype, not ", x.dtype());
    check(x.shape()[dim] > 0, who, ": dimension ", dim, " of ", x.shape(), " is empty");
    Shape shape = x.shape();
    shape[dim] = 1;
    const Largest found{Tensor::empty(shape, x.dtype(), x.device()), Tensor::empty(shape, DType::I64, x.device())};
    kernels::max.on(x.device())(x.view(), dim, found.values.view(), found.indices.view());
    return found;
}

Tensor without(const Tensor& x, int dim) {
    Shape shape;
    for (int i = 0; i < x.rank(); ++i)
        if (i != dim) shape.push_back(x.shape()[i]);
    return reshape(x, shape);
}

// Zeros with the gradient at the places it was taken from; no place is taken twice.
Tensor put_back(const Tensor& gradient, const Tensor& indices, int dim, const Shape& shape) {
    const DType dtype = compute_dtype(gradient.dtype());
    const Tensor out = Tensor::zeros(shape, dtype, gradient.device());
    kernels::scatter_add.on(gradient.device())(dim, indices.view(), gradient.to(dtype).view(), out.view());
    return out.to(gradient.dtype());
}

}  // namespace

Tensor sum(const Tensor& x, std::vector<int> dims, bool keep) {
    const Reduced shapes = reduced_shapes("sum", x, dims);
    return record("sum", run_sum(kernels::sum, x, shapes, keep), {x},
                  [kept = shapes.kept, from = x.shape()](const Tensor& gradient) -> Gradients {
                      return {expand(reshape(gradient, kept), from)};
                  });
}

Tensor mean(const Tensor& x, std::vector<int> dims, bool keep) {
    const Reduced shapes = reduced_shapes("mean", x, dims);
    return record("mean", run_sum(kernels::mean, x, shapes, keep), {x},
                  [kept = shapes.kept, from = x.shape()](const Tensor& gradient) -> Gradients {
                      const double share = static_cast<double>(kept.elements()) / static_cast<double>(from.elements());
                      return {expand(reshape(scale(gradient, share), kept), from)};
                  });
}

Tensor max(const Tensor& x, int dim, bool keep) {
    dim = x.shape().wrap(dim);
    const Largest found = largest("max", x, dim);
    return record("max", keep ? found.values : without(found.values, dim), {x},
                  [indices = found.indices, dim, from = x.shape()](const Tensor& gradient) -> Gradients {
                      return {put_back(reshape(gradient, indices.shape()), indices, dim, from)};
                  });
}

Tensor argmax(const Tensor& x, int dim, bool keep) {
    dim = x.shape().wrap(dim);
    const Largest found = largest("argmax", x, dim);
    return record_without_gradient("argmax", keep ? found.indices : without(found.indices, dim), {x});
}

TopK top_k(const Tensor& x, std::int64_t k, int dim) {
    check(is_float(x.dtype()), "top_k: needs a float dtype, not ", x.dtype());
    dim = x.shape().wrap(dim);
    check(0 <= k && k <= x.shape()[dim], "top_k: ", k, " values of dimension ", dim, " of ", x.shape());
    Shape shape = x.shape();
    shape[dim] = k;
    const Tensor values = Tensor::empty(shape, x.dtype(), x.device());
    const Tensor indices = Tensor::empty(shape, DType::I64, x.device());
    kernels::top_k.on(x.device())(transpose(x.detach(), dim, -1).view(), transpose(values, dim, -1).view(),
                                  transpose(indices, dim, -1).view());
    const std::vector<Tensor> outputs =
        record("top_k", std::vector<Tensor>{values, indices}, {x},
               [indices, dim, from = x.shape()](const Gradients& gradients) -> Gradients {
                   return {put_back(gradients[0], indices, dim, from)};
               });
    return {outputs[0], outputs[1]};
}

}  // namespace tessera::ops
