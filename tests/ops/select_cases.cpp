// where, cast and dropout: choosing and changing values in place.
#include <cmath>

#include "support/op_case.h"
#include "tessera/core/random.h"
#include "tessera/ops/cast.h"
#include "tessera/ops/dropout.h"
#include "tessera/ops/views.h"
#include "tessera/ops/where.h"

namespace tessera::testing {
namespace {

Tensor coin_flips(const Shape& shape, std::uint64_t seed) {
    const Tensor out = Tensor::empty(shape, DType::Bool);
    for (std::int64_t i = 0; i < shape.elements(); ++i)
        out.data<bool>()[i] = random_bits({.seed = seed}, static_cast<std::uint64_t>(i)) & 1;
    return out;
}

Tensor plain_where(const Tensor& condition, const Tensor& a, const Tensor& b) {
    const Shape shape = broadcast(condition.shape(), broadcast(a.shape(), b.shape(), "where"), "where");
    const auto c = ops::expand(condition, shape).to_vector<std::uint8_t>();
    const auto x = ops::expand(a, shape).to_vector<double>(), y = ops::expand(b, shape).to_vector<double>();
    std::vector<double> out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = c[i] ? x[i] : y[i];
    return from_doubles(out, shape);
}

void add_where(Cases& out, const std::string& label, const Shape& condition, const Shape& a, const Shape& b) {
    out.add({.name = "where/" + label,
             .inputs = {{.shape = condition, .dtype = DType::Bool, .values = coin_flips(condition, 3)},
                        {.shape = a},
                        {.shape = b}},
             .op = [](const Tensors& in) { return Tensors{ops::where(in[0], in[1], in[2])}; },
             .reference = [](const Tensors& in) { return Tensors{plain_where(in[0], in[1], in[2])}; },
             .cuda = true});
}

Tensor plain_dropout(const Tensor& x, double p, RandomKey key) {
    std::vector<double> values = x.to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = random_bits(key, i) >= p * 0x1p32 ? values[i] / (1 - p) : 0;
    return from_doubles(values, x.shape());
}

const RegisterCases select_cases{[](Cases& out) {
    for (const std::int64_t n : odd_sizes) {
        add_where(out, text_of("same/", n), {3, n}, {3, n}, {3, n});
        out.add({.name = text_of("dropout/", n),
                 .inputs = {{.shape = {3, n}}},
                 .op =
                     [](const Tensors& in) {
                         return Tensors{ops::dropout(in[0], 0.25, {7, 9})};
                     },
                 .reference =
                     [](const Tensors& in) {
                         return Tensors{plain_dropout(in[0], 0.25, {7, 9})};
                     },
                 .cuda = true});
    }
    add_where(out, "broadcast", {5, 1}, {33}, {2, 1, 1});
    add_where(out, "large", {70, 1031}, {70, 1031}, {});
    out.add({.name = "dropout/large",
             .inputs = {{.shape = {70, 1031}}},
             .op =
                 [](const Tensors& in) {
                     return Tensors{ops::dropout(in[0], 0.1, {1, 2})};
                 },
             .reference =
                 [](const Tensors& in) {
                     return Tensors{plain_dropout(in[0], 0.1, {1, 2})};
                 },
             .cuda = true});
    // There and back: the identity wherever the values fit.
    out.add({.name = "cast/f32_and_back",
             .inputs = {{.shape = {5, 33}}},
             .op = [](const Tensors& in) { return Tensors{ops::cast(ops::cast(in[0], DType::F64), in[0].dtype())}; },
             .reference = [](const Tensors& in) { return in; },
             .cuda = true});
}};

}  // namespace
}  // namespace tessera::testing
