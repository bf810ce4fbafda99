#include "nn/recurrent.h"

#include <gtest/gtest.h>

#include "ops/concat.h"
#include "ops/views.h"
#include "support/goldens.h"
#include "support/module_check.h"
#include "support/op_case.h"
#include "tensor/tape.h"

namespace tessera::nn {
namespace {

using testing::expect_gradients;
using testing::random_tensor;
using testing::randomise;
using testing::relative_error;
using testing::weighted_total;

constexpr RecurrentKind kinds[] = {RecurrentKind::rnn, RecurrentKind::gru, RecurrentKind::lstm};

TEST(Recurrent, LoadsTorchsLayersByTheirNames) {
    const testing::Golden golden("recurrent-and-additive/expected.safetensors");
    const char* names[] = {"rnn", "gru", "lstm"};
    for (const RecurrentKind kind : kinds) {
        const std::string name = names[static_cast<int>(kind)];
        Recurrent module({.kind = kind, .input_width = 12, .hidden = 16});
        for (const auto& [own, tensor] : parameters(module)) *tensor = golden[name + "." + own];
        EXPECT_LE(relative_error(module.forward(golden["x"], {}), golden[name + ".output"]), 1e-5) << name;
    }
}

TEST(Recurrent, StepByStepIsTheWholeSequence) {
    for (const RecurrentKind kind : kinds) {
        Recurrent module({.kind = kind, .input_width = 5, .hidden = 7, .layers = 2});
        randomise(module);
        const Tensor x = random_tensor({2, 6, 5}, 3);
        const NoGrad no_grad;
        const Tensor whole = module.forward(x, {});
        RecurrentState state;
        std::vector<Tensor> steps;
        for (std::int64_t t = 0; t < 6; ++t) steps.push_back(module.forward(ops::slice(x, 1, t, t + 1), {}, &state));
        EXPECT_LE(relative_error(ops::concat(steps, 1), whole), 1e-12);
    }
}

TEST(Recurrent, EveryParameterOfEveryLayerLearns) {
    for (const RecurrentKind kind : kinds) {
        Recurrent module({.kind = kind, .input_width = 3, .hidden = 4, .layers = 2});
        randomise(module);
        const Tensor x = random_tensor({2, 5, 3}, 4);
        const Tensor lengths = Tensor::from<std::int64_t>({5, 2}, {2});
        expect_gradients(module, [&] { return weighted_total(module.forward(x, {}, nullptr, lengths)); });
    }
}

TEST(Recurrent, BiasesStartAtZero) {
    Recurrent module({.kind = RecurrentKind::gru, .input_width = 3, .hidden = 2});
    initialise(module, {.seed = 5});
    EXPECT_EQ(module.layers[0].input_bias.to_vector<float>(), std::vector<float>(6, 0));
    EXPECT_EQ(module.layers[0].hidden_bias.to_vector<float>(), std::vector<float>(6, 0));
}

}  // namespace
}  // namespace tessera::nn
