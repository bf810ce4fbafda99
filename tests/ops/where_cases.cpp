#include "tessera/ops/where.h"

#include "support/op_case.h"
#include "tessera/core/random.h"
#include "tessera/ops/views.h"

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

const RegisterCases where_cases{[](Cases& out) {
    for (const std::int64_t n : odd_sizes) add_where(out, text_of("same/", n), {3, n}, {3, n}, {3, n});
    add_where(out, "broadcast", {5, 1}, {33}, {2, 1, 1});
    add_where(out, "large", {70, 1031}, {70, 1031}, {});
}};

}  // namespace
}  // namespace tessera::testing
