#include "tessera/ops/nadaraya_watson.h"

#include <cmath>

#include "support/op_case.h"

namespace tessera::testing {
namespace {

double kernel_of(ops::PoolingKernel kernel, double distance, double width) {
    switch (kernel) {
        case ops::PoolingKernel::Gaussian: return std::exp(-distance * distance / (2 * width * width));
        case ops::PoolingKernel::Boxcar: return distance <= width ? 1 : 0;
        case ops::PoolingKernel::Epanechnikov: return std::max(0.0, 1 - distance / width);
    }
    return 0;
}

Tensors reference(const Tensors& in, ops::PoolingKernel kernel, double width) {
    const std::int64_t queries = in[0].size(-2), keys = in[1].size(-2), features = in[0].size(-1);
    const std::int64_t values = in[2].size(-1), rows = in[0].elements() / features;
    const auto q = in[0].to_vector<double>(), k = in[1].to_vector<double>(), v = in[2].to_vector<double>();
    std::vector<double> output(static_cast<std::size_t>(rows * values));
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t first = row / queries * keys;
        std::vector<double> weights;
        double sum = 0;
        for (std::int64_t j = 0; j < keys; ++j) {
            double square = 0;
            for (std::int64_t i = 0; i < features; ++i)
                square += std::pow(q[static_cast<std::size_t>(row * features + i)] -
                                       k[static_cast<std::size_t>((first + j) * features + i)],
                                   2);
            weights.push_back(kernel_of(kernel, std::sqrt(square), width));
            sum += weights.back();
        }
        for (std::int64_t j = 0; j < keys && sum > 0; ++j)
            for (std::int64_t i = 0; i < values; ++i)
                output[static_cast<std::size_t>(row * values + i)] +=
                    weights[static_cast<std::size_t>(j)] / sum * v[static_cast<std::size_t>((first + j) * values + i)];
    }
    Shape shape = in[0].shape();
    shape[shape.rank() - 1] = values;
    return {from_doubles(output, shape)};
}

struct NamedKernel {
    const char* name;
    ops::PoolingKernel kernel;
};

const RegisterCases nadaraya_watson_cases{[](Cases& out) {
    const NamedKernel kernels[] = {{"gaussian", ops::PoolingKernel::Gaussian},
                                   {"boxcar", ops::PoolingKernel::Boxcar},
                                   {"epanechnikov", ops::PoolingKernel::Epanechnikov}};
    for (const NamedKernel& named : kernels) {
        const auto add = [&](const char* label, std::int64_t n, const Shape& queries, const Shape& keys,
                             const Shape& values, double width) {
            out.add({.name = text_of("nadaraya_watson/", named.name, "/", label, "/", n),
                     .inputs = {{.shape = queries}, {.shape = keys}, {.shape = values}},
                     .op =
                         [=](const Tensors& in) {
                             return Tensors{ops::nadaraya_watson(in[0], in[1], in[2], named.kernel, width)};
                         },
                     .reference = [=](const Tensors& in) { return reference(in, named.kernel, width); },
                     .cuda = true});
        };
        for (const std::int64_t n : odd_sizes) {
            add("features", n, {2, 3, n}, {2, 5, n}, {2, 5, 4}, 1.5 * std::sqrt(static_cast<double>(n)));
            add("keys", n, {3, 2}, {n, 2}, {n, 7}, 0.7);
        }
        add("stacked", 2, {2, 3, 4, 3}, {2, 3, 6, 3}, {2, 3, 6, 2}, 1.2);
        add("large", 200, {1, 100, 2}, {1, 200, 2}, {1, 200, 3}, 0.5);
    }
}};

}  // namespace
}  // namespace tessera::testing
