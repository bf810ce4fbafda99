// Nadaraya–Watson regression (1964), the ancestor of attention: the answer to a query is the mean of all values,
// weighted by how near their keys are.
//
//     f(x) = Σ_i α(x, x_i) y_i,   α(x, x_i) = K((x − x_i) / w) / Σ_j K((x − x_j) / w)
//
// Nothing is learned but the width w, by descent on the error of each point as predicted from all others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tessera/ops/nadaraya_watson.h"

namespace tessera::training {

struct Points {
    std::vector<double> x, y;  // by rising x
};

// y = 2 sin x + x^0.8 + noise over 0 ≤ x < 5, and the curve without noise.
Points noisy_points(std::int64_t count, std::uint64_t seed);
double noiseless(double x);
// Lines of two numbers with a tab between; an error names the line.
Points read_points(const std::filesystem::path& file);

struct PoolingSettings {
    ops::PoolingKernel kernel = ops::PoolingKernel::Gaussian;
    double width = 1;
};

// The weight of every point for every query, (queries × points).
std::vector<double> pooling_weights(const Points& points, std::span<const double> queries,
                                    const PoolingSettings& settings);
std::vector<double> pooled(const Points& points, std::span<const double> queries, const PoolingSettings& settings);

// The mean squared error of each point, predicted from all others.
double left_out_error(const Points& points, const PoolingSettings& settings);

struct WidthStep {
    double width = 0, error = 0;
};
// Gradient descent on log w; the first entry is where it began. The boxcar has no slope, and is refused.
std::vector<WidthStep> learn_width(const Points& points, const PoolingSettings& start, std::int64_t steps,
                                   double learning_rate);

}  // namespace tessera::training
