#include "tessera/ops/losses.h"

#include <cmath>

#include "support/op_case.h"

namespace tessera::testing {
namespace {

Tensor plain_mse(const Tensor& a, const Tensor& b) {
    const auto x = a.to_vector<double>(), y = b.to_vector<double>();
    double total = 0;
    for (std::size_t i = 0; i < x.size(); ++i) total += (x[i] - y[i]) * (x[i] - y[i]);
    return from_doubles({total / static_cast<double>(x.size())}, {});
}

// logits[i][j] = scale · image_i · text_j + bias
std::vector<std::vector<double>> plain_logits(const Tensor& image, const Tensor& text, double scale, double bias) {
    const auto x = image.to_vector<double>(), y = text.to_vector<double>();
    const auto pairs = static_cast<std::size_t>(image.size(0)), width = static_cast<std::size_t>(image.size(1));
    std::vector<std::vector<double>> logits(pairs, std::vector<double>(pairs, bias));
    for (std::size_t i = 0; i < pairs; ++i)
        for (std::size_t j = 0; j < pairs; ++j)
            for (std::size_t k = 0; k < width; ++k) logits[i][j] += scale * x[i * width + k] * y[j * width + k];
    return logits;
}

Tensor plain_sigmoid(const Tensors& in) {
    const auto logits = plain_logits(in[0], in[1], std::exp(in[2].item()), in[3].item());
    double total = 0;
    for (std::size_t i = 0; i < logits.size(); ++i)
        for (std::size_t j = 0; j < logits.size(); ++j)
            total -= std::log(1 / (1 + std::exp(-(i == j ? 1 : -1) * logits[i][j])));
    return from_doubles({total / static_cast<double>(logits.size())}, {});
}

Tensor plain_normalise(const Tensor& x, double eps) {
    auto values = x.to_vector<double>();
    const auto width = static_cast<std::size_t>(x.size(-1));
    for (std::size_t row = 0; row < values.size(); row += width) {
        double squares = 0;
        for (std::size_t j = 0; j < width; ++j) squares += values[row + j] * values[row + j];
        for (std::size_t j = 0; j < width; ++j) values[row + j] /= std::max(std::sqrt(squares), eps);
    }
    return from_doubles(values, x.shape());
}

const RegisterCases losses_cases{[](Cases& out) {
    for (const std::int64_t n : odd_sizes) {
        out.add({.name = text_of("mse/", n),
                 .inputs = {{.shape = {3, n}}, {.shape = {3, n}}},
                 .op = [](const Tensors& in) { return Tensors{ops::mse(in[0], in[1])}; },
                 .reference = [](const Tensors& in) { return Tensors{plain_mse(in[0], in[1])}; },
                 .cuda = true});
        out.add({.name = text_of("sigmoid_contrastive/", n),
                 .inputs = {{.shape = {n, 9}}, {.shape = {n, 9}}, {.shape = {}}, {.shape = {}, .low = -2, .high = -1}},
                 .op = [](const Tensors& in) { return Tensors{ops::sigmoid_contrastive(in[0], in[1], in[2], in[3])}; },
                 .reference = [](const Tensors& in) { return Tensors{plain_sigmoid(in)}; },
                 .cuda = true});
        if (n > 1)  // one value becomes its sign, and its gradient 0 up to rounding
            out.add({.name = text_of("l2_normalise/", n),
                     .inputs = {{.shape = {2, 3, n}}},
                     .op = [](const Tensors& in) { return Tensors{ops::l2_normalise(in[0])}; },
                     .reference = [](const Tensors& in) { return Tensors{plain_normalise(in[0], 1e-12)}; },
                     .cuda = true});
    }
    out.add({.name = "l2_normalise/short_rows",
             .inputs = {{.shape = {5, 7}}},
             .op = [](const Tensors& in) { return Tensors{ops::l2_normalise(in[0], 10)}; },
             .reference = [](const Tensors& in) { return Tensors{plain_normalise(in[0], 10)}; },
             .cuda = true});
}};

}  // namespace
}  // namespace tessera::testing
