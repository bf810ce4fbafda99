#include <cmath>
#include <numbers>

#include "support/op_case.h"
#include "tessera/ops/gated.h"
#include "tessera/ops/views.h"

namespace tessera::testing {
namespace {

double silu(double x) { return x / (1 + std::exp(-x)); }
double gelu(double x) { return x * 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double gelu_tanh(double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

Tensor gated(const Tensor& gate, const Tensor& up, double (*activation)(double)) {
    const auto x = gate.to_vector<double>(), y = up.to_vector<double>();
    std::vector<double> out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = activation(x[i]) * y[i];
    return from_doubles(out, gate.shape());
}

struct GatedOp {
    const char* name;
    Tensor (*op)(const Tensor&, const Tensor&);
    double (*activation)(double);
};

const RegisterCases gated_cases{[](Cases& out) {
    const GatedOp gated_ops[] = {
        {"swiglu", ops::swiglu, silu},
        {"geglu", [](const Tensor& gate, const Tensor& up) { return ops::geglu(gate, up, false); }, gelu},
        {"geglu_tanh", [](const Tensor& gate, const Tensor& up) { return ops::geglu(gate, up, true); }, gelu_tanh},
    };
    for (const auto& [name, op, activation] : gated_ops) {
        const auto add = [&, op = op, activation = activation](const std::string& label, const Shape& shape) {
            out.add({.name = text_of(name, "/", label),
                     .inputs = {{.shape = shape, .low = -6, .high = 6}, {.shape = shape}},
                     .op = [op](const Tensors& in) { return Tensors{op(in[0], in[1])}; },
                     .reference = [activation](const Tensors& in) { return Tensors{gated(in[0], in[1], activation)}; },
                     .cuda = true});
        };
        for (const std::int64_t n : odd_sizes) add(text_of(n), {3, n});
        add("batched", {2, 3, 5, 17});
        add("large", {70, 1031});
        // Both halves of one projection.
        out.add({.name = text_of(name, "/halves"),
                 .inputs = {{.shape = {5, 66}, .low = -3, .high = 3}},
                 .op =
                     [op = op](const Tensors& in) {
                         return Tensors{op(ops::slice(in[0], 1, 0, 33), ops::slice(in[0], 1, 33, 66))};
                     },
                 .reference =
                     [activation = activation](const Tensors& in) {
                         return Tensors{gated(ops::slice(in[0], 1, 0, 33), ops::slice(in[0], 1, 33, 66), activation)};
                     },
                 .cuda = true});
    }
}};

}  // namespace
}  // namespace tessera::testing
