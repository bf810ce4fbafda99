#include "tessera/ops/concat.h"

#include "support/op_case.h"
#include "tessera/ops/views.h"

namespace tessera::testing {
namespace {

// Position by position: the part it falls into, and where in it.
Tensor plain_concat(const Tensors& parts, int dim) {
    Shape shape = parts[0].shape();
    shape[dim] = 0;
    for (const Tensor& part : parts) shape[dim] += part.size(dim);
    std::vector<double> out;
    for (std::int64_t n = 0; n < shape.elements(); ++n) {
        Shape at = shape;
        std::int64_t rest = n;
        for (int i = shape.rank() - 1; i >= 0; --i) {
            at[i] = rest % shape[i];
            rest /= shape[i];
        }
        std::size_t part = 0;
        while (at[dim] >= parts[part].size(dim)) at[dim] -= parts[part++].size(dim);
        Tensor rest_of = parts[part];
        for (int i = 0; i < shape.rank(); ++i) rest_of = ops::slice(rest_of, i, at[i], at[i] + 1);
        out.push_back(rest_of.item());
    }
    return from_doubles(out, shape);
}

void add_concat(Cases& out, const std::string& label, const std::vector<Shape>& shapes, int dim) {
    std::vector<Input> inputs;
    std::vector<std::int64_t> sizes;
    for (const Shape& shape : shapes) {
        inputs.push_back({.shape = shape});
        sizes.push_back(shape[dim]);
    }
    out.add({.name = "concat/" + label,
             .inputs = inputs,
             .op = [dim](const Tensors& in) { return Tensors{ops::concat(in, dim)}; },
             .reference = [dim](const Tensors& in) { return Tensors{plain_concat(in, dim)}; },
             .cuda = true});
    Shape whole = shapes[0];
    for (std::size_t i = 1; i < shapes.size(); ++i) whole[dim] += shapes[i][dim];
    out.add({.name = "split/" + label,
             .inputs = {{.shape = whole}},
             .op = [=](const Tensors& in) { return ops::split(in[0], sizes, dim); },
             .reference =
                 [=](const Tensors& in) {
                     Tensors pieces;
                     std::int64_t begin = 0;
                     for (const std::int64_t size : sizes) {
                         pieces.push_back(ops::slice(in[0], dim, begin, begin + size).clone());
                         begin += size;
                     }
                     return pieces;
                 },
             .cuda = true});
}

const RegisterCases concat_cases{[](Cases& out) {
    for (const std::int64_t n : odd_sizes) {
        add_concat(out, text_of("last/", n), {{3, n}, {3, 1}, {3, 4}}, 1);
        add_concat(out, text_of("first/", n), {{2, n}, {1, n}}, 0);
    }
    add_concat(out, "middle", {{2, 3, 5}, {2, 1, 5}, {2, 7, 5}}, 1);
}};

}  // namespace
}  // namespace tessera::testing
