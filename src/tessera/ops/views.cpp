#include "tessera/ops/views.h"

#include "tessera/ops/binary.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

// The strides that give `shape` over x's storage without copying, if there are any.
bool strides_for(const Tensor& x, const Shape& shape, Shape& strides) {
    // Walk both shapes from the end in groups of equal size; within a group x must be laid out as one run.
    strides = Shape::of_rank(shape.rank(), 1);
    int from = x.rank() - 1, to = shape.rank() - 1;
    while (from >= 0 && to >= 0) {
        std::int64_t have = x.shape()[from], want = shape[to];
        std::int64_t step = x.strides()[from];
        const int group_end = to;
        std::int64_t run = x.shape()[from] * step;
        --from;
        while (have != want) {
            if (have < want) {
                if (x.shape()[from] != 1) {
                    const bool unset = have == 1;
                    if (!unset && x.strides()[from] != run) return false;
                    if (unset) step = x.strides()[from];
                    run = x.shape()[from] * x.strides()[from];
                }
                have *= x.shape()[from--];
            } else {
                want *= shape[--to];
            }
        }
        for (int dim = group_end; dim >= to; --dim) {
            strides[dim] = step;
            step *= shape[dim];
        }
        --to;
    }
    return true;
}

Shape resolve_unknown(const Tensor& x, Shape shape) {
    int unknown = -1;
    std::int64_t known = 1;
    for (int i = 0; i < shape.rank(); ++i) {
        if (shape[i] != -1) {
            known *= shape[i];
            continue;
        }
        check(unknown < 0, "reshape: more than one -1 in ", shape);
        unknown = i;
    }
    if (unknown >= 0 && known != 0) shape[unknown] = x.elements() / known;
    check(unknown < 0 || known != 0, "reshape: -1 is ambiguous in ", shape);
    check(shape.elements() == x.elements(), "reshape: ", x.shape(), " does not fit ", shape);
    return shape;
}

}  // namespace

Tensor permute(const Tensor& x, const Shape& order) {
    const int rank = x.rank();
    check(order.rank() == rank, "permute: ", order.rank(), " dimensions named for shape ", x.shape());
    Shape shape = x.shape(), strides = x.strides(), inverse = Shape::of_rank(rank, -1);
    for (int i = 0; i < rank; ++i) {
        const int source = x.shape().wrap(static_cast<int>(order[i]));
        check(inverse[source] < 0, "permute: dimension ", source, " is named twice");
        inverse[source] = i;
        shape[i] = x.shape()[source];
        strides[i] = x.strides()[source];
    }
    return record("permute", x.with_layout(shape, strides, x.offset()), {x},
                  [inverse](const Tensor& gradient) -> Gradients { return {permute(gradient, inverse)}; });
}

Tensor transpose(const Tensor& x, int a, int b) {
    Shape order = Shape::of_rank(x.rank());
    for (int i = 0; i < x.rank(); ++i) order[i] = i;
    std::swap(order[x.shape().wrap(a)], order[x.shape().wrap(b)]);
    return permute(x, order);
}

Tensor slice(const Tensor& x, int dim, std::int64_t begin, std::int64_t end, std::int64_t step) {
    dim = x.shape().wrap(dim);
    check(step >= 1, "slice: step ", step, " must be at least 1");
    check(0 <= begin && begin <= end && end <= x.shape()[dim], "slice: [", begin, ", ", end,
          ") is out of range for dimension ", dim, " of ", x.shape());
    Shape shape = x.shape(), strides = x.strides();
    shape[dim] = (end - begin + step - 1) / step;
    strides[dim] *= step;
    const Tensor out = x.with_layout(shape, strides, x.offset() + begin * x.strides()[dim]);
    return record("slice", out, {x}, [from = x.shape(), dim, begin, end, step](const Tensor& gradient) -> Gradients {
        const Tensor whole = Tensor::zeros(from, gradient.dtype(), gradient.device());
        slice(whole, dim, begin, end, step).copy_from(gradient);
        return {whole};
    });
}

Tensor select(const Tensor& x, int dim, std::int64_t index) {
    dim = x.shape().wrap(dim);
    check(0 <= index && index < x.shape()[dim], "select: index ", index, " is out of range for dimension ", dim, " of ",
          x.shape());
    Shape shape;
    for (int i = 0; i < x.rank(); ++i)
        if (i != dim) shape.push_back(x.shape()[i]);
    return reshape(slice(x, dim, index, index + 1), shape);
}

Tensor reshape(const Tensor& x, Shape wanted) {
    const Shape shape = resolve_unknown(x, wanted);
    Shape strides = contiguous_strides(shape);
    Tensor out;
    if (x.elements() == 0 || x.is_contiguous() || strides_for(x, shape, strides))
        out = x.with_layout(shape, strides, x.offset());
    else
        out = x.detach().clone().with_layout(shape, contiguous_strides(shape), 0);
    return record("reshape", out, {x},
                  [from = x.shape()](const Tensor& gradient) -> Gradients { return {reshape(gradient, from)}; });
}

Tensor expand(const Tensor& x, const Shape& shape) {
    check(broadcast(x.shape(), shape, "expand") == shape, "expand: ", x.shape(), " does not stretch to ", shape);
    Shape strides = Shape::of_rank(shape.rank(), 0);
    for (int i = 1; i <= x.rank(); ++i) {
        const int from = x.rank() - i, to = shape.rank() - i;
        if (x.shape()[from] == shape[to]) strides[to] = x.strides()[from];
    }
    return record("expand", x.with_layout(shape, strides, x.offset()), {x},
                  [from = x.shape()](const Tensor& gradient) -> Gradients { return {sum_to(gradient, from)}; });
}

Tensor contiguous(const Tensor& x) {
    if (x.is_contiguous()) return x;
    return record("contiguous", x.detach().clone(), {x},
                  [](const Tensor& gradient) -> Gradients { return {gradient}; });
}

}  // namespace tessera::ops
