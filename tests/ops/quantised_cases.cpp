#include "support/quantised.h"
#include "tessera/ops/experts.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/views.h"

namespace tessera::testing {
namespace {

const RegisterCases quantised_cases{[](Cases& out) {
    for (const DType dtype : quantised_dtypes) {
        const Tensor weight = random_quantised({7, 256}, 1, dtype), values = decoded(weight).to(DType::F64);
        out.add({.name = text_of("linear/", dtype),
                 .inputs = {{.shape = {2, 3, 256}}, {.shape = {7}}},
                 .op = [weight](
                           const Tensors& in) { return Tensors{ops::linear(in[0], weight.to(in[0].device()), in[1])}; },
                 .reference = [values](const Tensors& in) { return Tensors{ops::linear(in[0], values, in[1])}; },
                 .cuda = true});
    }
    const Tensor experts = random_quantised({3, 5, 64}, 2, DType::Q5_1), values = decoded(experts).to(DType::F64);
    const ops::ExpertPlan plan =
        ops::plan_experts(Tensor::from(std::vector<std::int64_t>{2, 0, 0, 2, 2, 0}, {3, 2}), 3);
    out.add({.name = "grouped_linear/q5_1",
             .inputs = {{.shape = {6, 64}}, {.shape = {3, 5}}},
             .op =
                 [=](const Tensors& in) {
                     return Tensors{ops::grouped_linear(in[0], experts.to(in[0].device()), plan, in[1])};
                 },
             .reference = [=](const Tensors& in) { return Tensors{ops::grouped_linear(in[0], values, plan, in[1])}; },
             .cuda = true});
}};

}  // namespace
}  // namespace tessera::testing
