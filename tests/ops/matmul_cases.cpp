#include "tessera/ops/linear.h"
#include "tessera/ops/matmul.h"

#include "support/op_case.h"
#include "tessera/ops/views.h"

namespace tessera::testing {
namespace {

// The plain triple loop, batch by batch.
Tensor triple_loop(Tensor a, Tensor b, const ops::MatmulOptions& options) {
    if (options.transpose_a) a = ops::transpose(a, -1, -2);
    if (options.transpose_b) b = ops::transpose(b, -1, -2);
    Shape a_batch, b_batch;
    for (int dim = 0; dim + 2 < a.rank(); ++dim) a_batch.push_back(a.shape()[dim]);
    for (int dim = 0; dim + 2 < b.rank(); ++dim) b_batch.push_back(b.shape()[dim]);
    Shape a_shape = broadcast(a_batch, b_batch, "reference"), b_shape = a_shape, c_shape = a_shape;
    const std::int64_t batch = a_shape.elements(), m = a.size(-2), k = a.size(-1), n = b.size(-1);
    for (const std::int64_t size : {m, k}) a_shape.push_back(size);
    for (const std::int64_t size : {k, n}) b_shape.push_back(size);
    for (const std::int64_t size : {m, n}) c_shape.push_back(size);
    const auto x = ops::expand(a, a_shape).to_vector<double>(), y = ops::expand(b, b_shape).to_vector<double>();
    std::vector<double> out(static_cast<std::size_t>(batch * m * n));
    for (std::int64_t item = 0; item < batch; ++item)
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                double sum = 0;
                for (std::int64_t l = 0; l < k; ++l)
                    sum += x[static_cast<std::size_t>((item * m + i) * k + l)] *
                           y[static_cast<std::size_t>((item * k + l) * n + j)];
                out[static_cast<std::size_t>((item * m + i) * n + j)] = sum;
            }
    return from_doubles(out, c_shape);
}

Tensor plain_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    Tensor out = triple_loop(ops::reshape(x, {x.elements() / x.size(-1), x.size(-1)}), weight, {.transpose_b = true});
    std::vector<double> values = out.to_vector<double>();
    if (bias.defined()) {
        const auto row = bias.to_vector<double>();
        for (std::size_t i = 0; i < values.size(); ++i) values[i] += row[i % row.size()];
    }
    Shape shape = x.shape();
    shape[x.rank() - 1] = weight.size(0);
    return from_doubles(values, shape);
}

void add_matmul(Cases& out, const std::string& name, const Shape& a, const Shape& b, ops::MatmulOptions options = {}) {
    out.add({.name = "matmul/" + name,
             .inputs = {{.shape = a}, {.shape = b}},
             .op = [options](const Tensors& in) { return Tensors{ops::matmul(in[0], in[1], options)}; },
             .reference = [options](const Tensors& in) { return Tensors{triple_loop(in[0], in[1], options)}; },
             .cuda = true});
}

void add_linear(Cases& out, const std::string& name, const Shape& x, std::int64_t width, bool with_bias) {
    std::vector<Input> inputs = {{.shape = x}, {.shape = {width, x.at(-1)}}};
    if (with_bias) inputs.push_back({.shape = {width}});
    const auto bias = [](const Tensors& in) { return in.size() > 2 ? in[2] : Tensor(); };
    out.add({.name = "linear/" + name,
             .inputs = inputs,
             .op = [bias](const Tensors& in) { return Tensors{ops::linear(in[0], in[1], bias(in))}; },
             .reference = [bias](const Tensors& in) { return Tensors{plain_linear(in[0], in[1], bias(in))}; },
             .cuda = true});
}

// One x under three weights, the second with a bias.
void add_side_by_side(Cases& out, const Shape& x) {
    const std::int64_t width = x.at(-1);
    out.add({.name = text_of("linear/side_by_side/", width),
             .inputs =
                 {{.shape = x}, {.shape = {31, width}}, {.shape = {17, width}}, {.shape = {17}}, {.shape = {1, width}}},
             .op =
                 [](const Tensors& in) {
                     const ops::LinearMap maps[] = {{in[1]}, {in[2], in[3]}, {in[4]}};
                     return Tensors{ops::linear(in[0], maps)};
                 },
             .reference =
                 [](const Tensors& in) {
                     return Tensors{plain_linear(in[0], in[1], {}), plain_linear(in[0], in[2], in[3]),
                                    plain_linear(in[0], in[4], {})};
                 },
             .cuda = true});
}

const RegisterCases matmul_cases{[](Cases& out) {
    for (const std::int64_t n : odd_sizes) {
        add_matmul(out, text_of("square/", n), {n, n}, {n, n});
        add_matmul(out, text_of("one_row/", n), {1, n}, {n, 33});
        // With n = 1 the second gradient is a single sum that cancels; its relative error says nothing.
        if (n > 1) add_matmul(out, text_of("one_column/", n), {33, n}, {n, 1});
        add_matmul(out, text_of("inner_one/", n), {n, 1}, {1, 31});
        add_linear(out, text_of("bias/", n), {7, n}, 31, true);
    }
    for (const bool a : {false, true})
        for (const bool b : {false, true}) {
            const ops::MatmulOptions options{.transpose_a = a, .transpose_b = b};
            const std::string label = text_of(a ? "t" : "n", b ? "t" : "n");
            add_matmul(out, label + "/matrix", a ? Shape{31, 65} : Shape{65, 31}, b ? Shape{33, 31} : Shape{31, 33},
                       options);
            add_matmul(out, label + "/batch", a ? Shape{2, 3, 17, 9} : Shape{2, 3, 9, 17},
                       b ? Shape{2, 3, 12, 17} : Shape{2, 3, 17, 12}, options);
            add_matmul(out, label + "/few_rows", a ? Shape{64, 3} : Shape{3, 64}, b ? Shape{70, 64} : Shape{64, 70},
                       options);
        }
    add_matmul(out, "broadcast/left", {5, 7}, {3, 7, 11});
    add_matmul(out, "broadcast/right", {3, 5, 7}, {7, 11});
    add_matmul(out, "broadcast/both", {2, 1, 5, 7}, {1, 3, 7, 11});
    add_matmul(out, "broadcast/right_of_transposed", {3, 7, 5}, {7, 11}, {.transpose_a = true});
    add_matmul(out, "long_inner", {33, 4100}, {4100, 17});
    add_matmul(out, "cut", {130, 150}, {150, 420});
    add_linear(out, "single_vector", {127}, 33, true);
    add_linear(out, "no_bias", {2, 5, 33}, 65, false);
    add_linear(out, "one_output", {40, 65}, 1, true);
    add_linear(out, "larger", {160, 129}, 200, true);
    add_side_by_side(out, {2, 5, 33});
    add_side_by_side(out, {70, 64});
}};

}  // namespace
}  // namespace tessera::testing
