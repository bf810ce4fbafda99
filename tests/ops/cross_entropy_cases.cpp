#include "tessera/ops/cross_entropy.h"

#include <cmath>

#include "support/op_case.h"
#include "tessera/ops/matmul.h"

namespace tessera::testing {
namespace {

// Every row by the book: softmax, then −Σ q log p with the smoothed target distribution q, then the square of log Z.
Tensor plain(const Tensor& logits, const Tensor& targets, const ops::LinearCrossEntropyOptions& options) {
    const auto x = logits.to_vector<double>();
    const auto t = targets.to_vector<std::int64_t>();
    const auto classes = static_cast<std::size_t>(logits.size(-1));
    double total = 0, counted = 0;
    for (std::size_t row = 0; row < t.size(); ++row) {
        if (t[row] == options.ignore_index) continue;
        std::vector<double> l(x.begin() + static_cast<std::ptrdiff_t>(row * classes),
                              x.begin() + static_cast<std::ptrdiff_t>((row + 1) * classes));
        double z = 0;
        for (double& value : l) {
            if (options.soft_cap > 0) value = options.soft_cap * std::tanh(value / options.soft_cap);
            z += std::exp(value);
        }
        for (std::size_t j = 0; j < classes; ++j) {
            double q = options.label_smoothing / static_cast<double>(classes);
            if (static_cast<std::int64_t>(j) == t[row]) q += 1 - options.label_smoothing;
            total -= q * (l[j] - std::log(z));
        }
        total += options.z_loss * std::log(z) * std::log(z);
        counted += 1;
    }
    if (options.reduction == ops::Reduction::Mean && counted > 0) total /= counted;
    return from_doubles({total}, {});
}

Tensor targets_for(const Shape& shape, std::int64_t classes) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(shape.elements()));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = i % 4 == 2 ? -100 : static_cast<std::int64_t>(i * 7 + 3) % classes;
    return Tensor::from(values, shape);
}

struct CrossEntropyVariant {
    const char* name;
    ops::LinearCrossEntropyOptions options;
};
const CrossEntropyVariant variants[] = {
    {"mean", {}},
    {"sum", {.reduction = ops::Reduction::Sum}},
    {"smoothed", {.label_smoothing = 0.1}},
    {"z_loss", {.z_loss = 0.05}},
    {"all", {.label_smoothing = 0.2, .z_loss = 0.01, .reduction = ops::Reduction::Sum}}};

void add_logits(Cases& out, const CrossEntropyVariant& variant, const Shape& shape) {
    const ops::CrossEntropyOptions options{variant.options.ignore_index, variant.options.label_smoothing,
                                           variant.options.z_loss, variant.options.reduction};
    Shape rows;
    for (int dim = 0; dim + 1 < shape.rank(); ++dim) rows.push_back(shape[dim]);
    out.add(
        {.name = text_of("cross_entropy/", variant.name, "/", shape.at(-1)),
         .inputs =
             {{.shape = shape, .low = -4, .high = 4},
              {.shape = {}, .differentiable = false, .dtype = DType::I64, .values = targets_for(rows, shape.at(-1))}},
         .op = [options](const Tensors& in) { return Tensors{ops::cross_entropy(in[0], in[1], options)}; },
         .reference = [full = variant.options](const Tensors& in) { return Tensors{plain(in[0], in[1], full)}; },
         .cuda = true});
}

void add_linear(Cases& out, const CrossEntropyVariant& variant, std::int64_t rows, std::int64_t classes,
                std::int64_t chunk) {
    ops::LinearCrossEntropyOptions options = variant.options;
    options.chunk = chunk;
    out.add({.name = text_of("linear_cross_entropy/", variant.name, "/", rows, "/", classes, "/", chunk),
             .inputs =
                 {{.shape = {rows, 9}, .low = -2, .high = 2},
                  {.shape = {classes, 9}, .low = -2, .high = 2},
                  {.shape = {}, .differentiable = false, .dtype = DType::I64, .values = targets_for({rows}, classes)}},
             .op = [options](
                       const Tensors& in) { return Tensors{ops::linear_cross_entropy(in[0], in[1], in[2], options)}; },
             .reference =
                 [options](const Tensors& in) {
                     return Tensors{plain(ops::matmul(in[0], in[1], {.transpose_b = true}), in[2], options)};
                 },
             .cuda = true});
}

const RegisterCases cross_entropy_cases{[](Cases& out) {
    for (const CrossEntropyVariant& variant : variants) {
        add_logits(out, variant, {2, 5, 33});
        add_linear(out, variant, 13, 31, 4);
    }
    for (const std::int64_t n : odd_sizes) add_logits(out, {"size", {.z_loss = 0.01}}, {7, n});
    add_logits(out, variants[4], {6, 5003});
    add_linear(out, {"capped", {.label_smoothing = 0.1, .z_loss = 0.01, .soft_cap = 3}}, 13, 31, 5);
    add_linear(out, variants[0], 33, 127, 0);
    add_linear(out, variants[0], 5, 1, 2);
}};

}  // namespace
}  // namespace tessera::testing
