#include "tessera/ops/binary.h"

#include "support/op_case.h"
#include "tessera/ops/views.h"

namespace tessera::testing {
namespace {

// The plain definition: broadcast by index, then one scalar function.
Tensor elementwise(const Tensor& a, const Tensor& b, double (*f)(double, double)) {
    const Shape shape = broadcast(a.shape(), b.shape(), "reference");
    const auto x = ops::expand(a, shape).to_vector<double>(), y = ops::expand(b, shape).to_vector<double>();
    std::vector<double> out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = f(x[i], y[i]);
    return from_doubles(out, shape);
}

struct BinaryOp {
    const char* name;
    Tensor (*op)(const Tensor&, const Tensor&);
    double (*f)(double, double);
};

const RegisterCases binary_cases{[](Cases& out) {
    const BinaryOp binary_ops[] = {
        {"add", ops::add, [](double x, double y) { return x + y; }},
        {"sub", ops::sub, [](double x, double y) { return x - y; }},
        {"mul", ops::mul, [](double x, double y) { return x * y; }},
        {"div", ops::div, [](double x, double y) { return x / y; }},
    };
    for (const auto& [name, op, f] : binary_ops) {
        const auto add = [&, op = op, f = f](const std::string& label, const Shape& a, const Shape& b) {
            out.add({.name = text_of(name, "/", label),
                     .inputs = {{.shape = a, .low = 0.5, .high = 2}, {.shape = b, .low = 0.5, .high = 2}},
                     .op = [op](const Tensors& in) { return Tensors{op(in[0], in[1])}; },
                     .reference = [f](const Tensors& in) { return Tensors{elementwise(in[0], in[1], f)}; },
                     .cuda = true});
        };
        for (const std::int64_t n : odd_sizes) add(text_of("same/", n), {3, n}, {3, n});
        add("row", {5, 33}, {33});
        add("column", {5, 33}, {5, 1});
        add("scalar", {5, 33}, {});
        add("outer", {4, 1, 7}, {3, 1});
        add("large", {70, 1031}, {70, 1031});
    }
}};

}  // namespace
}  // namespace tessera::testing
