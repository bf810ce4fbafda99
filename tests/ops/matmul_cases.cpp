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

void add_matmul(Cases& out, const std::string& name, const Shape& a, const Shape& b, ops::MatmulOptions options = {}) {
    out.add({.name = "matmul/" + name,
             .inputs = {{.shape = a}, {.shape = b}},
             .op = [options](const Tensors& in) { return Tensors{ops::matmul(in[0], in[1], options)}; },
             .reference = [options](const Tensors& in) { return Tensors{triple_loop(in[0], in[1], options)}; },
             .cuda = true});
}

const RegisterCases matmul_cases{[](Cases& out) {
    for (const std::int64_t n : odd_sizes) {
        add_matmul(out, text_of("square/", n), {n, n}, {n, n});
        add_matmul(out, text_of("one_row/", n), {1, n}, {n, 33});
        // With n = 1 the second gradient is a single sum that cancels; its relative error says nothing.
        if (n > 1) add_matmul(out, text_of("one_column/", n), {33, n}, {n, 1});
        add_matmul(out, text_of("inner_one/", n), {n, 1}, {1, 31});
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
}};

}  // namespace
}  // namespace tessera::testing
