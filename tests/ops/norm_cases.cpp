#include "tessera/ops/norm.h"

#include <cmath>

#include "support/op_case.h"
#include "tessera/ops/binary.h"

namespace tessera::testing {
namespace {

struct Plain {
    bool centred;
    double eps, weight_offset;
};

// The plain definition, one row after another. `weight` and `bias` may be undefined.
Tensor normalised(const Tensor& x, const Tensor& weight, const Tensor& bias, const Plain& plain) {
    std::vector<double> values = x.to_vector<double>();
    const auto width = static_cast<std::size_t>(x.size(-1));
    const std::vector<double> w = weight.defined() ? weight.to_vector<double>() : std::vector<double>(width, 1);
    const std::vector<double> b = bias.defined() ? bias.to_vector<double>() : std::vector<double>(width, 0);
    const double offset = weight.defined() ? plain.weight_offset : 0;
    for (std::size_t row = 0; row < values.size() / width; ++row) {
        double* line = values.data() + row * width;
        double mean = 0, variance = 0;
        for (std::size_t i = 0; plain.centred && i < width; ++i) mean += line[i] / static_cast<double>(width);
        for (std::size_t i = 0; i < width; ++i)
            variance += (line[i] - mean) * (line[i] - mean) / static_cast<double>(width);
        for (std::size_t i = 0; i < width; ++i)
            line[i] = (line[i] - mean) / std::sqrt(variance + plain.eps) * (w[i] + offset) + b[i];
    }
    return from_doubles(values, x.shape());
}

struct NormVariant {
    const char* name;
    bool has_weight, has_bias;
};

Tensor optional(const Tensors& in, std::size_t i) { return i < in.size() ? in[i] : Tensor(); }

// x then, as far as the variant has them, weight and bias. A width of 1 normalises to a sign (or to 0): eps is made
// large enough there for gradients to be more than rounding.
void add_layer_norm(Cases& out, const std::string& label, const Shape& shape, const NormVariant& variant) {
    const std::int64_t width = shape[shape.rank() - 1];
    const double eps = width == 1 ? 0.5 : 1e-5;
    std::vector<Input> inputs{{.shape = shape, .low = -1, .high = 2}};
    if (variant.has_weight) inputs.push_back({.shape = {width}, .low = 0.5, .high = 1.5});
    if (variant.has_bias) inputs.push_back({.shape = {width}});
    const auto bias_of = [variant](const Tensors& in) {
        return variant.has_bias ? in[variant.has_weight ? 2 : 1] : Tensor();
    };
    const auto weight_of = [variant](const Tensors& in) { return variant.has_weight ? in[1] : Tensor(); };
    out.add({.name = text_of("layer_norm/", variant.name, "/", label),
             .inputs = inputs,
             .op = [=](const Tensors& in) { return Tensors{ops::layer_norm(in[0], weight_of(in), bias_of(in), eps)}; },
             .reference =
                 [=](const Tensors& in) {
                     return Tensors{normalised(in[0], weight_of(in), bias_of(in), {true, eps, 0})};
                 },
             .cuda = true});
}

void add_rms_norm(Cases& out, const std::string& label, const Shape& shape, bool has_weight, double offset) {
    const std::int64_t width = shape[shape.rank() - 1];
    const double eps = width == 1 ? 0.5 : 1e-6;
    std::vector<Input> inputs{{.shape = shape, .low = -1, .high = 2}};
    if (has_weight) inputs.push_back({.shape = {width}, .low = 0.5, .high = 1.5});
    out.add({.name = text_of("rms_norm/", label),
             .inputs = inputs,
             .op =
                 [=](const Tensors& in) {
                     return Tensors{ops::rms_norm(in[0], optional(in, 1), {.eps = eps, .weight_offset = offset})};
                 },
             .reference =
                 [=](const Tensors& in) {
                     return Tensors{normalised(in[0], optional(in, 1), {}, {false, eps, offset})};
                 },
             .cuda = true});
}

// Both outputs carry gradients: the harness weighs every output.
void add_fused(Cases& out, const std::string& label, const Shape& shape, bool has_weight) {
    const std::int64_t width = shape[shape.rank() - 1];
    const double eps = width == 1 ? 0.5 : 1e-5;
    std::vector<Input> inputs{{.shape = shape, .low = -1, .high = 2}, {.shape = shape, .low = -2, .high = 1}};
    if (has_weight) inputs.push_back({.shape = {width}, .low = 0.5, .high = 1.5});
    out.add({.name = text_of("add_rms_norm/", label),
             .inputs = inputs,
             .op =
                 [=](const Tensors& in) {
                     const auto [normed, sum] =
                         ops::add_rms_norm(in[0], in[1], optional(in, 2), {.eps = eps, .weight_offset = 1});
                     return Tensors{normed, sum};
                 },
             .reference =
                 [=](const Tensors& in) {
                     const Tensor sum = ops::add(in[0], in[1]);
                     return Tensors{normalised(sum, optional(in, 2), {}, {false, eps, 1}), sum};
                 },
             .cuda = true});
    if (has_weight) inputs.push_back({.shape = {width}});
    out.add({.name = text_of("add_layer_norm/", label),
             .inputs = inputs,
             .op =
                 [=](const Tensors& in) {
                     const auto [normed, sum] =
                         ops::add_layer_norm(in[0], in[1], optional(in, 2), optional(in, 3), eps);
                     return Tensors{normed, sum};
                 },
             .reference =
                 [=](const Tensors& in) {
                     const Tensor sum = ops::add(in[0], in[1]);
                     return Tensors{normalised(sum, optional(in, 2), optional(in, 3), {true, eps, 0}), sum};
                 },
             .cuda = true});
}

const RegisterCases norm_cases{[](Cases& out) {
    const NormVariant variants[] = {
        {"weight and bias", true, true}, {"weight", true, false}, {"bias", false, true}, {"bare", false, false}};
    for (const NormVariant& variant : variants) {
        for (const std::int64_t n : odd_sizes) add_layer_norm(out, text_of(n), {3, n}, variant);
        add_layer_norm(out, "batched", {2, 3, 5, 17}, variant);
    }
    add_layer_norm(out, "large", {70, 515}, variants[0]);
    for (const std::int64_t n : odd_sizes) {
        add_rms_norm(out, text_of("weight/", n), {3, n}, true, 0);
        add_rms_norm(out, text_of("offset/", n), {3, n}, true, 1);
        add_rms_norm(out, text_of("bare/", n), {3, n}, false, 0);
        add_fused(out, text_of("weight/", n), {5, n}, true);
        add_fused(out, text_of("bare/", n), {5, n}, false);
    }
    add_rms_norm(out, "one dimension", {33}, true, 0);
    add_rms_norm(out, "many rows", {2, 170, 9}, true, 1);
    add_rms_norm(out, "large", {70, 515}, true, 0);
    add_fused(out, "large", {70, 515}, true);
}};

}  // namespace
}  // namespace tessera::testing
