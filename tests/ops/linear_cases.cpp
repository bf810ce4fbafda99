#include "tessera/ops/linear.h"

#include "support/op_case.h"

namespace tessera::testing {
namespace {

Tensor plain_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    const auto rows = x.to_vector<double>(), factors = weight.to_vector<double>();
    const std::vector<double> shift = bias.defined() ? bias.to_vector<double>() : std::vector<double>();
    const auto in = static_cast<std::size_t>(x.size(-1)), width = static_cast<std::size_t>(weight.size(0));
    std::vector<double> out;
    for (std::size_t row = 0; row < rows.size(); row += in)
        for (std::size_t j = 0; j < width; ++j) {
            double sum = shift.empty() ? 0 : shift[j];
            for (std::size_t i = 0; i < in; ++i) sum += rows[row + i] * factors[j * in + i];
            out.push_back(sum);
        }
    Shape shape = x.shape();
    shape[x.rank() - 1] = weight.size(0);
    return from_doubles(out, shape);
}

void add_linear(Cases& out, const std::string& name, const Shape& x, std::int64_t width, bool with_bias) {
    std::vector<Input> inputs = {{.shape = x}, {.shape = {width, x.at(-1)}}};
    if (with_bias) inputs.push_back({.shape = {width}});
    const auto bias = [](const Tensors& in) { return in.size() > 2 ? in[2] : Tensor(); };
    out.add({.name = "linear/" + name,
             .inputs = inputs,
             .op = [bias](const Tensors& in) { return Tensors{ops::linear(in[0], in[1], bias(in))}; },
             .reference = [bias](const Tensors& in) { return Tensors{plain_linear(in[0], in[1], bias(in))}; },
             .cuda = true});
}

// One x under three weights, the second with a bias.
void add_side_by_side(Cases& out, const Shape& x) {
    const std::int64_t width = x.at(-1);
    out.add({.name = text_of("linear/side_by_side/", width),
             .inputs =
                 {{.shape = x}, {.shape = {31, width}}, {.shape = {17, width}}, {.shape = {17}}, {.shape = {1, width}}},
             .op =
                 [](const Tensors& in) {
                     const ops::LinearMap maps[] = {{in[1]}, {in[2], in[3]}, {in[4]}};
                     return Tensors{ops::linear(in[0], maps)};
                 },
             .reference =
                 [](const Tensors& in) {
                     return Tensors{plain_linear(in[0], in[1], {}), plain_linear(in[0], in[2], in[3]),
                                    plain_linear(in[0], in[4], {})};
                 },
             .cuda = true});
}

const RegisterCases linear_cases{[](Cases& out) {
    for (const std::int64_t n : odd_sizes) add_linear(out, text_of("bias/", n), {7, n}, 31, true);
    add_linear(out, "single_vector", {127}, 33, true);
    add_linear(out, "no_bias", {2, 5, 33}, 65, false);
    add_linear(out, "one_output", {40, 65}, 1, true);
    add_linear(out, "larger", {160, 129}, 200, true);
    add_side_by_side(out, {2, 5, 33});
    add_side_by_side(out, {70, 64});
}};

}  // namespace
}  // namespace tessera::testing
