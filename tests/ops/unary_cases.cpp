#include "tessera/ops/unary.h"

#include <cmath>
#include <numbers>

#include "support/op_case.h"

namespace tessera::testing {
namespace {

struct UnaryOp {
    const char* name;
    Tensor (*op)(const Tensor&);
    double (*f)(double);
    double low = -4, high = 4;
};

const UnaryOp unary_ops[] = {
    {"neg", ops::neg, [](double x) { return -x; }},
    {"exp", ops::exp, [](double x) { return std::exp(x); }},
    {"log", ops::log, [](double x) { return std::log(x); }, 0.1, 5},
    {"sqrt", ops::sqrt, [](double x) { return std::sqrt(x); }, 0.1, 5},
    {"rsqrt", ops::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.1, 5},
    {"tanh", ops::tanh, [](double x) { return std::tanh(x); }},
    {"sigmoid", ops::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"relu", ops::relu, [](double x) { return x > 0 ? x : 0; }},
    {"gelu", ops::gelu, [](double x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2)); }},
    {"gelu_tanh", ops::gelu_tanh,
     [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))); }},
    {"silu", ops::silu, [](double x) { return x / (1 + std::exp(-x)); }},
    {"soft_cap", [](const Tensor& x) { return ops::soft_cap(x, 3.0); },
     [](double x) { return 3.0 * std::tanh(x / 3.0); }},
};

const RegisterCases unary_cases{[](Cases& out) {
    for (const auto& [name, op, f, low, high] : unary_ops) {
        const auto add = [&, op = op, f = f, low = low, high = high](const std::string& label, const Shape& shape) {
            out.add({.name = text_of(name, "/", label),
                     .inputs = {{.shape = shape, .low = low, .high = high}},
                     .op = [op](const Tensors& in) { return Tensors{op(in[0])}; },
                     .reference = [f](const Tensors& in) { return Tensors{map(in[0], f)}; },
                     .cuda = true});
        };
        for (const std::int64_t n : odd_sizes) add(text_of(n), {3, n});
        add("scalar", {});
        add("large", {70, 1031});
    }
}};

}  // namespace
}  // namespace tessera::testing
