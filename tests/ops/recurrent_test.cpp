#include "tessera/ops/recurrent.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/goldens.h"
#include "support/op_case.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

using Layer = ops::RecurrentResult (*)(const Tensor&, const ops::RecurrentWeights&, const ops::RecurrentOptions&);

ops::RecurrentResult tanh_rnn(const Tensor& x, const ops::RecurrentWeights& weights,
                              const ops::RecurrentOptions& options) {
    return ops::rnn(x, weights, options);
}

struct NamedLayer {
    std::string name;
    Layer layer;
    std::int64_t gates;
};
const NamedLayer layers[] = {{"rnn", tanh_rnn, 1}, {"gru", ops::gru, 3}, {"lstm", ops::lstm, 4}};

ops::RecurrentWeights random_weights(std::int64_t gates, std::int64_t input, std::int64_t width,
                                     DType dtype = DType::F64) {
    const std::int64_t rows = gates * width;
    return {random_tensor({rows, input}, 1, -1, 1, dtype), random_tensor({rows, width}, 2, -1, 1, dtype),
            random_tensor({rows}, 3, -1, 1, dtype), random_tensor({rows}, 4, -1, 1, dtype)};
}

TEST(Recurrent, MatchesTheGoldens) {
    const Golden golden("recurrent-and-additive/expected.safetensors");
    for (const auto& [name, layer, gates] : layers) {
        const auto weight = [&](const std::string& which) {
            return golden[text_of(name, ".", which, "_l0")].clone().set_requires_grad();
        };
        const ops::RecurrentWeights weights{weight("weight_ih"), weight("weight_hh"), weight("bias_ih"),
                                            weight("bias_hh")};
        const Tensor output = layer(golden["x"], weights, {}).output;
        EXPECT_LE(relative_error(output, golden[name + ".output"]), 1e-6) << name;
        // The goldens' loss weighs the outputs evenly from -1 to 1.
        const std::int64_t count = output.elements();
        const Tensor slope = ops::shift(ops::scale(Tensor::arange(count, DType::F32), 2.0 / double(count - 1)), -1);
        backward({output}, {ops::reshape(slope, output.shape())});
        const auto error = [&](const Tensor& parameter, const std::string& which) {
            return relative_error(parameter.grad(), golden[text_of(name, ".grad.", which, "_l0")]);
        };
        EXPECT_LE(error(weights.input, "weight_ih"), 1e-6) << name;
        EXPECT_LE(error(weights.hidden, "weight_hh"), 1e-6) << name;
        EXPECT_LE(error(weights.input_bias, "bias_ih"), 1e-6) << name;
        EXPECT_LE(error(weights.hidden_bias, "bias_hh"), 1e-6) << name;
    }
}

TEST(Recurrent, StepsOneByOneGiveTheSequence) {
    const Tensor x = random_tensor({3, 4, 5}, 9);
    ops::RecurrentResult simple, gated, memory;
    for (std::int64_t t = 0; t < 4; ++t) {
        const Tensor step = ops::slice(x, 1, t, t + 1);
        simple = ops::rnn(step, random_weights(1, 5, 7), {.initial_state = simple.state}, ops::RnnActivation::Relu);
        gated = ops::gru(step, random_weights(3, 5, 7), {.initial_state = gated.state});
        memory = ops::lstm(step, random_weights(4, 5, 7), {.initial_state = memory.state, .initial_cell = memory.cell});
    }
    const auto relu = ops::rnn(x, random_weights(1, 5, 7), {}, ops::RnnActivation::Relu);
    EXPECT_LE(relative_error(simple.state, relu.state), 1e-14);
    EXPECT_LE(relative_error(gated.state, ops::gru(x, random_weights(3, 5, 7)).state), 1e-14);
    const ops::RecurrentResult lstm = ops::lstm(x, random_weights(4, 5, 7));
    EXPECT_LE(relative_error(memory.state, lstm.state), 1e-14);
    EXPECT_LE(relative_error(memory.cell, lstm.cell), 1e-14);
    EXPECT_TRUE(same_bits(lstm.state, ops::select(lstm.output, 1, 3)));
}

TEST(Recurrent, RowsOfALengthEqualShorterSequences) {
    const Tensor x = random_tensor({3, 6, 5}, 9);
    const std::vector<std::int64_t> lengths{2, 6, 0};
    for (const auto& [name, layer, gates] : layers) {
        const ops::RecurrentWeights weights = random_weights(gates, 5, 7);
        const auto together = layer(x, weights, {.lengths = Tensor::from(lengths, {3})});
        for (std::int64_t row = 0; row < 3; ++row) {
            const std::int64_t length = lengths[static_cast<std::size_t>(row)];
            const Tensor part = ops::slice(ops::slice(x, 0, row, row + 1), 1, 0, length);
            const auto alone = layer(part, weights, {});
            const Tensor output = ops::slice(together.output, 0, row, row + 1);
            EXPECT_LE(relative_error(ops::slice(output, 1, 0, length), alone.output), 1e-14) << name << row;
            EXPECT_EQ(relative_error(ops::slice(output, 1, length, 6), Tensor::zeros({1, 6 - length, 7})), 0) << name;
            EXPECT_LE(relative_error(ops::slice(together.state, 0, row, row + 1), alone.state), 1e-14) << name << row;
            if (gates < 4) continue;
            EXPECT_LE(relative_error(ops::slice(together.cell, 0, row, row + 1), alone.cell), 1e-14) << row;
        }
    }
}

TEST(Recurrent, WorksWithoutBiasesAndWithoutRecording) {
    for (const auto& [name, layer, gates] : layers) {
        ops::RecurrentWeights weights = random_weights(gates, 5, 7, DType::F32), zeros = weights;
        weights.input_bias = weights.hidden_bias = Tensor();
        zeros.input_bias = zeros.hidden_bias = Tensor::zeros({gates * 7});
        Tensor x = random_tensor({3, 4, 5}, 9, -1, 1, DType::F32);
        const Tensor silent = layer(x, zeros, {}).output;
        x.set_requires_grad();
        EXPECT_TRUE(same_bits(silent, layer(x, weights, {}).output)) << name;
    }
}

TEST(Recurrent, EmptySequencesKeepTheInitialState) {
    for (const auto& [name, layer, gates] : layers) {
        const ops::RecurrentWeights weights = random_weights(gates, 5, 7);
        Tensor initial = random_tensor({3, 7}, 8);
        initial.set_requires_grad();
        const auto result = layer(Tensor::zeros({3, 0, 5}, DType::F64), weights, {.initial_state = initial});
        EXPECT_EQ(result.output.shape(), (Shape{3, 0, 7}));
        EXPECT_TRUE(same_bits(result.state, initial)) << name;
        backward({result.state}, {Tensor::full({3, 7}, 2, DType::F64)});
        EXPECT_EQ(relative_error(initial.grad(), Tensor::full({3, 7}, 2)), 0) << name;
        EXPECT_EQ(layer(Tensor::zeros({0, 4, 5}, DType::F64), weights, {}).output.shape(), (Shape{0, 4, 7}));
    }
}

TEST(Recurrent, SaturatesInsteadOfOverflowing) {
    for (const DType dtype : {DType::F32, DType::F64}) {
        for (const double size : {1e4, 1e30, std::numeric_limits<double>::infinity()}) {
            for (const auto& [name, layer, gates] : layers) {
                // Biases alone drive the gates: the first unit's all up, the second's all down.
                ops::RecurrentWeights weights{Tensor::zeros({gates * 2, 1}, dtype),
                                              Tensor::zeros({gates * 2, 2}, dtype),
                                              Tensor::full({gates * 2}, size, dtype)};
                for (std::int64_t i = 1; i < gates * 2; i += 2) ops::slice(weights.input_bias, 0, i, i + 1).fill(-size);
                const Tensor output = layer(Tensor::zeros({1, 3, 1}, dtype), weights, {}).output;
                for (const double value : output.to_vector<double>()) EXPECT_TRUE(std::isfinite(value)) << name << size;
            }
        }
    }
}

TEST(Recurrent, ReportsWhatDoesNotFit) {
    const Tensor x = random_tensor({3, 4, 5}, 9);
    const ops::RecurrentWeights weights = random_weights(3, 5, 7);
    try {
        ops::lstm(x, weights);
        FAIL() << "three gates were taken for four";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "lstm: weights of (21, 5) and (21, 7) do not fit 4 gate(s) over x of (3, 4, 5)");
    }
    EXPECT_THROW(ops::gru(ops::select(x, 1, 0), weights), Error);
    EXPECT_THROW(ops::gru(x, weights, {.initial_state = Tensor::zeros({2, 7}, DType::F64)}), Error);
    EXPECT_THROW(ops::gru(x, weights, {.initial_state = Tensor::zeros({3, 7})}), Error);
    EXPECT_THROW(ops::gru(x, weights, {.initial_cell = Tensor::zeros({3, 7}, DType::F64)}), Error);
    EXPECT_THROW(ops::gru(x, weights, {.lengths = Tensor::zeros({4}, DType::I64)}), Error);
    EXPECT_THROW(ops::gru(x, weights, {.lengths = Tensor::zeros({3}, DType::I32)}), Error);
}

}  // namespace
}  // namespace tessera::testing
