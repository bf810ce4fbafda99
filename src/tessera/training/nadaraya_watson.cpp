#include "tessera/training/nadaraya_watson.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <numeric>

#include "tessera/core/error.h"
#include "tessera/core/random.h"
#include "tessera/data/lines.h"
#include "tessera/formats/byte_reader.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/random.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/unary.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::training {
namespace {

using Numbers = std::vector<double>;

Tensor column(std::span<const double> values) {
    return Tensor::from(values, {static_cast<std::int64_t>(values.size()), 1});
}

// Each point and all others: queries (N, 1, 1), keys and values (N, N − 1, 1).
struct LeftOut {
    Tensor queries, keys, values, targets;
};

LeftOut left_out(const Points& points) {
    const auto count = static_cast<std::int64_t>(points.x.size());
    check(count > 1, "a point can only be predicted from others, and there is ", count);
    Numbers keys, values;
    for (std::size_t i = 0; i < points.x.size(); ++i)
        for (std::size_t k = 0; k < points.x.size(); ++k)
            if (k != i) {
                keys.push_back(points.x[k]);
                values.push_back(points.y[k]);
            }
    return {Tensor::from(points.x, {count, 1, 1}), Tensor::from(keys, {count, count - 1, 1}),
            Tensor::from(values, {count, count - 1, 1}), Tensor::from(points.y, {count, 1, 1})};
}

// The kernel looks at distances in widths, so the width is learned as a factor before it.
Tensor error_of(const LeftOut& data, ops::PoolingKernel kernel, const Tensor& log_width) {
    const Tensor per_width = ops::exp(ops::neg(log_width));
    const Tensor found =
        ops::nadaraya_watson(ops::mul(data.queries, per_width), ops::mul(data.keys, per_width), data.values, kernel, 1);
    const Tensor gap = ops::sub(found, data.targets);
    return ops::mean(ops::mul(gap, gap), {0, 1, 2});
}

double number_in(std::string_view text, const std::string& where) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '+')) text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    check(error == std::errc() && end == text.data() + text.size() && std::isfinite(value) && std::abs(value) < 1e100,
          where, ": expected a number, found ", formats::shown(text));
    return value;
}

Points sorted(const Points& points) {
    std::vector<std::size_t> order(points.x.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return points.x[a] < points.x[b]; });
    Points out;
    for (const std::size_t i : order) {
        out.x.push_back(points.x[i]);
        out.y.push_back(points.y[i]);
    }
    return out;
}

}  // namespace

double noiseless(double x) { return 2 * std::sin(x) + std::pow(x, 0.8); }

Points noisy_points(std::int64_t count, std::uint64_t seed) {
    const RandomKey key{seed, 0};
    Points points;
    points.x = ops::uniform({count}, 0, 5, key.child(0), DType::F64).to_vector<double>();
    const Numbers noise = ops::normal({count}, 0, 0.5, key.child(1), DType::F64).to_vector<double>();
    for (std::size_t i = 0; i < points.x.size(); ++i) points.y.push_back(noiseless(points.x[i]) + noise[i]);
    return sorted(points);
}

Points read_points(const std::filesystem::path& file) {
    const data::Lines lines({file});
    Points points;
    for (std::int64_t i = 0; i < lines.size(); ++i) {
        const std::string_view line = lines.text(i);
        const std::size_t tab = line.find('\t');
        check(tab != line.npos, lines.where(i), ": expected two numbers with a tab between");
        const std::string_view rest = line.substr(tab + 1);
        points.x.push_back(number_in(line.substr(0, tab), lines.where(i)));
        points.y.push_back(number_in(rest.substr(0, rest.find('\t')), lines.where(i)));
    }
    return sorted(points);
}

std::vector<double> pooling_weights(const Points& points, std::span<const double> queries,
                                    const PoolingSettings& settings) {
    const NoGrad no_grad;
    const auto count = static_cast<std::int64_t>(points.x.size());
    // What a query takes of the i-th unit vector is its weight for the i-th point.
    Numbers units(static_cast<std::size_t>(count * count), 0);
    for (std::int64_t i = 0; i < count; ++i) units[static_cast<std::size_t>(i * (count + 1))] = 1;
    return ops::nadaraya_watson(column(queries), column(points.x), Tensor::from(units, {count, count}), settings.kernel,
                                settings.width)
        .to_vector<double>();
}

std::vector<double> pooled(const Points& points, std::span<const double> queries, const PoolingSettings& settings) {
    const NoGrad no_grad;
    return ops::nadaraya_watson(column(queries), column(points.x), column(points.y), settings.kernel, settings.width)
        .to_vector<double>();
}

double left_out_error(const Points& points, const PoolingSettings& settings) {
    const NoGrad no_grad;
    return error_of(left_out(points), settings.kernel, Tensor::scalar(std::log(settings.width), DType::F64)).item();
}

std::vector<WidthStep> learn_width(const Points& points, const PoolingSettings& start, std::int64_t steps,
                                   double learning_rate) {
    check(start.kernel != ops::PoolingKernel::Boxcar, "the boxcar is flat: its width cannot be learned by gradients");
    const LeftOut data = left_out(points);
    double log_width = std::log(start.width);
    std::vector<WidthStep> path;
    for (std::int64_t step = 0; step <= steps; ++step) {
        Tensor parameter = Tensor::scalar(log_width, DType::F64);
        parameter.set_requires_grad();
        const Tensor error = error_of(data, start.kernel, parameter);
        path.push_back({std::exp(log_width), error.item()});
        backward(error);
        log_width -= learning_rate * parameter.grad().item();
        check(std::isfinite(log_width), "step ", step, ": the width is no number any more; a smaller rate may help");
    }
    return path;
}

}  // namespace tessera::training
