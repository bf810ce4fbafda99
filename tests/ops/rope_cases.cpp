#include "tessera/ops/rope.h"

#include <cmath>

#include "support/op_case.h"

namespace tessera::testing {
namespace {

// The plain definition. The angle is rounded to f32, as checkpoints were trained.
Tensor turned(const Tensor& x, const Tensor& positions, const Tensor& frequencies, const ops::RopeOptions& options) {
    std::vector<double> values = x.to_vector<double>();
    const auto at = positions.to_vector<std::int64_t>();
    const auto rate = frequencies.to_vector<float>();
    const auto batch = static_cast<std::size_t>(x.size(0)), time = static_cast<std::size_t>(x.size(1));
    const auto heads = static_cast<std::size_t>(x.size(2)), width = static_cast<std::size_t>(x.size(3));
    const bool adjacent = options.pairing == ops::RopePairing::Adjacent;
    for (std::size_t row = 0; row < batch * time * heads; ++row) {
        const std::size_t place = row / heads;
        const auto position = static_cast<float>(at[positions.rank() == 1 ? place % time : place]);
        for (std::size_t j = 0; j < rate.size(); ++j) {
            const float angle = position * rate[j];
            double& a = values[row * width + (adjacent ? 2 * j : j)];
            double& b = values[row * width + (adjacent ? 2 * j + 1 : j + rate.size())];
            const double c = std::cos(static_cast<double>(angle)), s = std::sin(static_cast<double>(angle));
            const double left = a * c - b * s, right = b * c + a * s;
            a = left * options.magnitude;
            b = right * options.magnitude;
        }
    }
    return from_doubles(values, x.shape());
}

void add_rope(Cases& out, const std::string& label, const Shape& shape, std::int64_t rotary, bool per_batch,
              const ops::RopeOptions& options) {
    std::vector<std::int64_t> positions;
    const std::int64_t count = per_batch ? shape[0] * shape[1] : shape[1];
    for (std::int64_t i = 0; i < count; ++i) positions.push_back(i * i * 7919 % 100003);  // far and near, not in order
    const Shape positions_shape = per_batch ? Shape{shape[0], shape[1]} : Shape{shape[1]};
    const Tensor frequencies = ops::rope_frequencies(rotary, 10000).inverse_frequencies;
    out.add({.name = text_of("rope/", options.pairing == ops::RopePairing::Adjacent ? "adjacent/" : "halves/", label),
             .inputs = {{.shape = shape},
                        {.shape = positions_shape,
                         .differentiable = false,
                         .dtype = DType::I64,
                         .values = Tensor::from(positions, positions_shape)}},
             .op =
                 [=](const Tensors& in) {
                     return Tensors{ops::rope(in[0], in[1], frequencies.to(in[0].device()), options)};
                 },
             .reference = [=](const Tensors& in) { return Tensors{turned(in[0], in[1], frequencies, options)}; },
             .cuda = true});
}

const RegisterCases rope_cases{[](Cases& out) {
    for (const auto pairing : {ops::RopePairing::HalfSplit, ops::RopePairing::Adjacent}) {
        const ops::RopeOptions plain{.pairing = pairing};
        for (const std::int64_t n : odd_sizes) add_rope(out, text_of("time ", n), {2, n, 3, 8}, 8, false, plain);
        for (const std::int64_t n : odd_sizes)
            add_rope(out, text_of("pairs ", n), {1, 3, 2, 2 * n}, 2 * n, true, plain);
        add_rope(out, "positions of each sequence", {3, 5, 2, 16}, 16, true, plain);
        add_rope(out, "partial", {2, 5, 3, 33}, 10, true, plain);
        add_rope(out, "partial of whole vectors", {2, 5, 3, 128}, 32, false, plain);
        add_rope(out, "magnitude", {2, 5, 3, 20}, 16, false, {.pairing = pairing, .magnitude = 1.3});
        add_rope(out, "large", {2, 40, 4, 128}, 128, true, plain);
    }
}};

}  // namespace
}  // namespace tessera::testing
