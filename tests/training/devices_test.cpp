// Optimizer steps on a CUDA device beside the same steps on the CPU.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>

#include "support/op_case.h"
#include "tessera/training/optimizers/adafactor.h"
#include "tessera/training/optimizers/adamw.h"
#include "tessera/training/optimizers/sgd.h"

namespace tessera::training {
namespace {

using testing::random_tensor;
using testing::relative_error;
using testing::same_bits;

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(const ParameterBuffer&)>;

template <class Kind, class Options>
MakeOptimizer maker(const Options& options) {
    return [=](const ParameterBuffer& buffer) { return std::make_unique<Kind>(buffer, options); };
}

const std::map<std::string, MakeOptimizer> optimizer_makers = {
    {"sgd", maker<Sgd>(SgdOptions{.weight_decay = 0.1})},
    {"sgd momentum", maker<Sgd>(SgdOptions{.momentum = 0.9, .weight_decay = 0.1})},
    {"sgd nesterov", maker<Sgd>(SgdOptions{.momentum = 0.9, .nesterov = true})},
    {"adamw", maker<AdamW>(AdamWOptions{.weight_decay = 0.1})},
    {"adafactor", maker<Adafactor>(AdafactorOptions{.weight_decay = 0.1})},
    {"adafactor momentum", maker<Adafactor>(AdafactorOptions{.beta1 = 0.9, .clip_threshold = 0.7})},
};

// The values after four clipped steps over a matrix, a vector and a stack of matrices.
std::vector<Tensor> trained(const MakeOptimizer& make, DType dtype, Device device) {
    std::vector<Tensor> tensors;
    std::vector<Parameter> parameters;
    for (const Shape& shape : {Shape{700, 127}, Shape{127}, Shape{2, 3, 5, 7}})
        tensors.push_back(random_tensor(shape, 1 + tensors.size(), -1, 1, dtype).to(device));
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        tensors[i].set_requires_grad();
        parameters.push_back({text_of("tensor ", i), tensors[i]});
    }
    const ParameterBuffer buffer(parameters);
    const auto optimizer = make(buffer);
    for (std::uint64_t step = 0; step < 4; ++step) {
        buffer.zero_gradients();
        for (std::size_t i = 0; i < tensors.size(); ++i)
            tensors[i].grad().copy_from(random_tensor(tensors[i].shape(), 10 * step + i, -1, 1));
        buffer.clip_gradients(5);
        optimizer->step(0.01);
    }
    for (Tensor& tensor : tensors) tensor = tensor.detach();
    return tensors;
}

TEST(OptimizerOnCuda, StepsAsTheCpu) {
    if (!available(DeviceKind::CUDA)) GTEST_SKIP() << "no CUDA device";
    for (const auto& [name, make] : optimizer_makers)
        for (const auto& [dtype, tolerance] :
             {std::pair{DType::F64, 1e-12}, {DType::F32, 1e-6}, {DType::BF16, 2e-3}, {DType::F16, 3e-4}}) {
            const std::vector<Tensor> here = trained(make, dtype, cpu), there = trained(make, dtype, cuda);
            const std::vector<Tensor> again = trained(make, dtype, cuda);
            for (std::size_t i = 0; i < here.size(); ++i) {
                EXPECT_LE(relative_error(there[i], here[i]), tolerance) << name << ", " << tessera::name(dtype);
                EXPECT_TRUE(same_bits(there[i], again[i])) << name << ", " << tessera::name(dtype);
            }
        }
}

}  // namespace
}  // namespace tessera::training
