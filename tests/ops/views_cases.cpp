#include "tessera/ops/views.h"

#include "support/op_case.h"

namespace tessera::testing {
namespace {

// The reference copies by index: out[n] = x[place(n)], place given in x's row-major order.
Tensor picked(const Tensor& x, const Shape& shape, const std::function<std::int64_t(const Shape& at)>& place) {
    const auto values = x.to_vector<double>();
    std::vector<double> out;
    for (std::int64_t n = 0; n < shape.elements(); ++n) {
        Shape at = shape;
        std::int64_t rest = n;
        for (int i = shape.rank() - 1; i >= 0; --i) {
            at[i] = rest % shape[i];
            rest /= shape[i];
        }
        out.push_back(values[static_cast<std::size_t>(place(at))]);
    }
    return from_doubles(out, shape);
}

const RegisterCases views_cases{[](Cases& out) {
    for (const std::int64_t n : odd_sizes) {
        out.add({.name = text_of("transpose/", n),
                 .inputs = {{.shape = {3, n}}},
                 .op = [](const Tensors& in) { return Tensors{ops::transpose(in[0], 0, 1)}; },
                 .reference =
                     [n](const Tensors& in) {
                         return Tensors{picked(in[0], {n, 3}, [n](const Shape& at) { return at[1] * n + at[0]; })};
                     },
                 .cuda = true});
        out.add({.name = text_of("expand/", n),
                 .inputs = {{.shape = {n, 1}}},
                 .op =
                     [n](const Tensors& in) {
                         return Tensors{ops::expand(in[0], {2, n, 3})};
                     },
                 .reference =
                     [n](const Tensors& in) {
                         return Tensors{picked(in[0], {2, n, 3}, [](const Shape& at) { return at[1]; })};
                     },
                 .cuda = true});
        out.add({.name = text_of("reshape_of_transpose/", n),
                 .inputs = {{.shape = {4, n}}},
                 .op =
                     [n](const Tensors& in) {
                         return Tensors{ops::reshape(ops::transpose(in[0], 0, 1), {2 * n, 2})};
                     },
                 .reference =
                     [n](const Tensors& in) {
                         return Tensors{picked(in[0], {2 * n, 2}, [n](const Shape& at) {
                             const std::int64_t index = at[0] * 2 + at[1];
                             return index % 4 * n + index / 4;
                         })};
                     },
                 .cuda = true});
    }
    out.add({.name = "permute/heads",
             .inputs = {{.shape = {2, 5, 3, 7}}},
             .op =
                 [](const Tensors& in) {
                     return Tensors{ops::permute(in[0], {0, 2, 1, 3})};
                 },
             .reference =
                 [](const Tensors& in) {
                     return Tensors{picked(in[0], {2, 3, 5, 7}, [](const Shape& at) {
                         return ((at[0] * 5 + at[2]) * 3 + at[1]) * 7 + at[3];
                     })};
                 },
             .cuda = true});
    out.add({.name = "slice/steps",
             .inputs = {{.shape = {4, 31}}},
             .op = [](const Tensors& in) { return Tensors{ops::slice(in[0], 1, 3, 30, 4)}; },
             .reference =
                 [](const Tensors& in) {
                     return Tensors{picked(in[0], {4, 7}, [](const Shape& at) { return at[0] * 31 + 3 + at[1] * 4; })};
                 },
             .cuda = true});
    out.add({.name = "select/middle",
             .inputs = {{.shape = {3, 4, 5}}},
             .op = [](const Tensors& in) { return Tensors{ops::select(in[0], 1, 2)}; },
             .reference =
                 [](const Tensors& in) {
                     return Tensors{picked(in[0], {3, 5}, [](const Shape& at) { return (at[0] * 4 + 2) * 5 + at[1]; })};
                 },
             .cuda = true});
    out.add({.name = "contiguous/of_transpose",
             .inputs = {{.shape = {257, 300}}},
             .op = [](const Tensors& in) { return Tensors{ops::contiguous(ops::transpose(in[0], 0, 1))}; },
             .reference =
                 [](const Tensors& in) {
                     return Tensors{picked(in[0], {300, 257}, [](const Shape& at) { return at[1] * 300 + at[0]; })};
                 },
             .cuda = true});
}};

}  // namespace
}  // namespace tessera::testing
