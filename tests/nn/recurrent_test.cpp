#include "tessera/nn/recurrent.h"

#include <gtest/gtest.h>

#include "support/goldens.h"
#include "support/module_check.h"
#include "support/op_case.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::nn {
namespace {

using testing::expect_gradients;
using testing::random_tensor;
using testing::randomise;
using testing::relative_error;
using testing::weighted_total;

constexpr RecurrentKind kinds[] = {RecurrentKind::Rnn, RecurrentKind::Gru, RecurrentKind::Lstm};

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

// Weights of bf16 beside an x of f32 compute as the same weights in f32 do, and learn in their own dtype.
TEST(Recurrent, NarrowerWeightsAreReadAsTheyAre) {
    for (const RecurrentKind kind : kinds) {
        const RecurrentSettings settings{
            .kind = kind, .input_width = 5, .hidden = 7, .layers = 2, .bidirectional = true};
        Recurrent narrow(settings), wide(settings);
        randomise(narrow);
        const auto wide_parameters = parameters(wide);
        for (std::size_t i = 0; const auto& [name, tensor] : parameters(narrow)) {
            *tensor = tensor->detach().to(DType::BF16);
            *wide_parameters[i++].tensor = tensor->to(DType::F32);
            tensor->set_requires_grad();
        }
        const Tensor x = random_tensor({2, 6, 5}, 3, -1, 1, DType::F32);
        const Tensor out = narrow.forward(x, {});
        EXPECT_TRUE(testing::same_bits(out, wide.forward(x, {})));
        backward({out}, {random_tensor(out.shape(), 4, -1, 1, DType::F32)});
        for (const auto& [name, tensor] : parameters(narrow)) EXPECT_EQ(tensor->grad().dtype(), DType::BF16) << name;
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

// Two layers of two directions, put together by hand: torch's layout, and each row turned around within its length.
TEST(Recurrent, TwoDirectionsAreTwoModulesAndRowsTurnAroundByTheirLengths) {
    for (const RecurrentKind kind : kinds) {
        Recurrent module({.kind = kind, .input_width = 3, .hidden = 4, .layers = 2, .bidirectional = true});
        randomise(module);
        EXPECT_EQ(module.reverse_layers[1].input.shape(), module.layers[1].input.shape());
        EXPECT_EQ(module.layers[1].input.size(1), 8);
        const Tensor x = random_tensor({2, 5, 3}, 4);
        const std::vector<std::int64_t> lengths{5, 2};
        const NoGrad no_grad;
        RecurrentState state;
        const Tensor together = module.forward(x, {}, &state, Tensor::from(lengths, {2}));
        ASSERT_EQ(together.shape(), (Shape{2, 5, 8}));
        for (std::int64_t row = 0; row < 2; ++row) {
            const std::int64_t count = lengths[static_cast<std::size_t>(row)];
            const Tensor alone = ops::slice(ops::slice(x, 0, row, row + 1), 1, 0, count);
            const auto turned = [&](const Tensor& given) {
                std::vector<Tensor> steps;
                for (std::int64_t t = count - 1; t >= 0; --t) steps.push_back(ops::slice(given, 1, t, t + 1));
                return ops::concat(steps, 1);
            };
            const auto one_way = [&](const ops::RecurrentWeights& weights, const Tensor& given) {
                Recurrent single({.kind = kind, .input_width = given.size(2), .hidden = 4});
                single.layers[0] = weights;
                return single.forward(given, {});
            };
            Tensor wanted = alone;
            for (std::size_t layer = 0; layer < 2; ++layer)
                wanted = ops::concat({one_way(module.layers[layer], wanted),
                                      turned(one_way(module.reverse_layers[layer], turned(wanted)))},
                                     2);
            EXPECT_LE(relative_error(ops::slice(ops::slice(together, 0, row, row + 1), 1, 0, count), wanted), 1e-12);
            // After the last token forwards, after the first one backwards.
            const Tensor ends = ops::concat({ops::slice(ops::select(wanted, 1, count - 1), 1, 0, 4),
                                             ops::slice(ops::select(wanted, 1, 0), 1, 4, 8)},
                                            1);
            const Tensor left = ops::concat({state.states[2], state.states[3]}, 1);
            EXPECT_LE(relative_error(ops::slice(left, 0, row, row + 1), ends), 1e-12);
        }
    }
}

TEST(Recurrent, BothDirectionsLearn) {
    for (const RecurrentKind kind : kinds) {
        Recurrent module({.kind = kind, .input_width = 3, .hidden = 4, .layers = 2, .bidirectional = true});
        randomise(module);
        const Tensor x = random_tensor({2, 5, 3}, 4), lengths = Tensor::from<std::int64_t>({5, 2}, {2});
        expect_gradients(module, [&] { return weighted_total(module.forward(x, {}, nullptr, lengths)); });
    }
}

TEST(Recurrent, BiasesStartAtZero) {
    Recurrent module({.kind = RecurrentKind::Gru, .input_width = 3, .hidden = 2});
    initialise(module, {.seed = 5});
    EXPECT_EQ(module.layers[0].input_bias.to_vector<float>(), std::vector<float>(6, 0));
    EXPECT_EQ(module.layers[0].hidden_bias.to_vector<float>(), std::vector<float>(6, 0));
}

}  // namespace
}  // namespace tessera::nn
