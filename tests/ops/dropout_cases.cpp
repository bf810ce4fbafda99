#include "tessera/ops/dropout.h"

#include "support/op_case.h"
#include "tessera/core/random.h"

namespace tessera::testing {
namespace {

Tensor plain_dropout(const Tensor& x, double p, RandomKey key) {
    std::vector<double> values = x.to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = random_bits(key, i) >= p * 0x1p32 ? values[i] / (1 - p) : 0;
    return from_doubles(values, x.shape());
}

const RegisterCases dropout_cases{[](Cases& out) {
    for (const std::int64_t n : odd_sizes)
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
}};

}  // namespace
}  // namespace tessera::testing
