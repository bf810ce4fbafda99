#include "support/module_check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/op_case.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/reduce.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {

void randomise(nn::Module& module, std::uint64_t seed, DType dtype) {
    for (const auto& [name, tensor] : nn::parameters(module)) {
        const bool is_vector = tensor->rank() == 1;
        *tensor = random_tensor(tensor->shape(), ++seed, is_vector ? 0.5 : -0.5, is_vector ? 1.5 : 0.5, dtype);
        tensor->set_requires_grad();
    }
}

Tensor weighted_total(const Tensor& x) {
    return ops::sum(ops::mul(x, random_tensor(x.shape(), 4242, -1, 1, x.dtype()).to(x.device())));
}

void expect_gradients(nn::Module& module, const std::function<Tensor()>& loss, double tolerance) {
    for (const auto& [name, tensor] : nn::parameters(module)) tensor->set_grad({});
    backward(loss());
    const NoGrad no_grad;
    constexpr double step = 1e-5;
    for (const auto& [name, tensor] : nn::parameters(module)) {
        ASSERT_TRUE(tensor->grad().defined()) << name << ": no gradient";
        const Tensor direction = random_tensor(tensor->shape(), 99);
        const std::vector<double> gradient = tensor->grad().to_vector<double>(), along = direction.to_vector<double>();
        double analytic = 0, scale = 1e-3;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            analytic += gradient[i] * along[i];
            scale += std::fabs(gradient[i] * along[i]);
        }
        const Tensor original = tensor->detach().clone();
        tensor->copy_from(ops::add(original, ops::scale(direction, step)));
        const double above = loss().item();
        tensor->copy_from(ops::sub(original, ops::scale(direction, step)));
        const double below = loss().item();
        tensor->copy_from(original);
        EXPECT_NEAR(analytic, (above - below) / (2 * step), 10 * tolerance * scale) << name;
    }
}

}  // namespace tessera::testing
