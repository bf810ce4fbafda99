#include "tessera/ops/cast.h"

#include "support/op_case.h"

namespace tessera::testing {
namespace {

const RegisterCases cast_cases{[](Cases& out) {
    // There and back: the identity wherever the values fit.
    out.add({.name = "cast/f32_and_back",
             .inputs = {{.shape = {5, 33}}},
             .op = [](const Tensors& in) { return Tensors{ops::cast(ops::cast(in[0], DType::F64), in[0].dtype())}; },
             .reference = [](const Tensors& in) { return in; },
             .cuda = true});
}};

}  // namespace
}  // namespace tessera::testing
