#include "tessera/training/optimizers/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <memory>

#include "support/goldens.h"
#include "support/op_case.h"
#include "tessera/core/parallel.h"
#include "tessera/training/optimizers/adafactor.h"
#include "tessera/training/optimizers/adamw.h"
#include "tessera/training/optimizers/sgd.h"

namespace tessera::training {
namespace {

using testing::Golden;
using testing::random_tensor;
using testing::relative_error;
using testing::same_bits;

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(const ParameterBuffer&)>;

bool always(const Parameter&) { return true; }

MakeOptimizer sgd(const SgdOptions& options) {
    return [=](const ParameterBuffer& buffer) { return std::make_unique<Sgd>(buffer, options); };
}
MakeOptimizer adamw(const AdamWOptions& options) {
    return [=](const ParameterBuffer& buffer) { return std::make_unique<AdamW>(buffer, options); };
}
MakeOptimizer adafactor(const AdafactorOptions& options) {
    return [=](const ParameterBuffer& buffer) { return std::make_unique<Adafactor>(buffer, options); };
}

const std::map<std::string, MakeOptimizer> every_optimizer = {
    {"sgd", sgd({.weight_decay = 0.1})},
    {"sgd momentum", sgd({.momentum = 0.9, .weight_decay = 0.1})},
    {"sgd nesterov", sgd({.momentum = 0.9, .nesterov = true})},
    {"adamw", adamw({.weight_decay = 0.1})},
    {"adafactor", adafactor({.weight_decay = 0.1})},
    {"adafactor momentum", adafactor({.beta1 = 0.9})},
};

// Ten steps on the golden's gradients, against what torch and transformers made of them.
void expect_golden(const std::string& label, const MakeOptimizer& make, DType dtype) {
    const Golden golden("optimizers/expected.safetensors");
    const double rate = std::stod(golden.metadata().at("lr"));
    Tensor w = golden["w0"].to(dtype).clone(), b = golden["b0"].to(dtype).clone();
    w.set_requires_grad();
    b.set_requires_grad();
    const ParameterBuffer buffer({{"w", w}, {"b", b}}, always);
    const auto optimizer = make(buffer);
    const std::int64_t columns = golden["w0"].elements(), width = golden["b0"].elements();
    for (std::int64_t step = 0; step < 10; ++step) {
        w.grad().copy_from(golden["grad_w"].with_layout(w.shape(), contiguous_strides(w.shape()), step * columns));
        b.grad().copy_from(golden["grad_b"].with_layout(b.shape(), {1}, step * width));
        optimizer->step(rate);
    }
    EXPECT_LE(relative_error(w, golden[label + ".w10"]), 1e-6) << label;
    EXPECT_LE(relative_error(b, golden[label + ".b10"]), 1e-6) << label;
}

TEST(Optimizer, MatchesTheGoldens) {
    for (const DType dtype : {DType::F32, DType::F64}) {
        expect_golden("sgd", sgd({}), dtype);
        expect_golden("sgd_momentum", sgd({.momentum = 0.9, .weight_decay = 0.1}), dtype);
        expect_golden("adamw", adamw({.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0.1}), dtype);
        expect_golden("adafactor", adafactor({.weight_decay = 0.1}), dtype);
    }
}

struct Model {
    Tensor matrix, vector, stack;
    std::unique_ptr<ParameterBuffer> buffer;
    std::unique_ptr<Optimizer> optimizer;

    Model(const MakeOptimizer& make, const Shape& shape, DType dtype)
        : matrix(random_tensor(shape, 1, -1, 1, dtype)),
          vector(random_tensor({shape[1]}, 2, -1, 1, dtype)),
          stack(random_tensor({2, 3, 5, 7}, 3, -1, 1, dtype)) {
        for (Tensor* tensor : {&matrix, &vector, &stack}) tensor->set_requires_grad();
        buffer = std::make_unique<ParameterBuffer>(
            std::vector<Parameter>{{"matrix", matrix}, {"vector", vector}, {"stack", stack}});
        optimizer = make(*buffer);
    }

    void step(std::uint64_t seed) {
        buffer->zero_gradients();
        for (const Tensor* tensor : {&matrix, &vector, &stack})
            tensor->grad().copy_from(random_tensor(tensor->shape(), ++seed * 31, -1, 1));
        optimizer->step(0.01);
    }
};

TEST(Optimizer, OneThreadAndTwoGiveTheSameBits) {
    const int threads = thread_count();
    for (const auto& [name, make] : every_optimizer) {
        Tensor results[2];
        for (const int count : {1, 2}) {
            set_thread_count(count);
            Model model(make, {333, 127}, DType::F32);
            for (std::uint64_t step = 0; step < 3; ++step) model.step(step);
            results[count - 1] = model.buffer->values();
        }
        EXPECT_TRUE(same_bits(results[0], results[1])) << name;
    }
    set_thread_count(threads);
}

TEST(Optimizer, SixteenBitParametersFollowTheirMasterCopy) {
    for (const DType dtype : {DType::BF16, DType::F16}) {
        for (const auto& [name, make] : every_optimizer) {
            Model half(make, {33, 31}, dtype), full(make, {33, 31}, DType::F32);
            full.matrix.copy_from(half.matrix.detach());  // the same start
            full.vector.copy_from(half.vector.detach());
            full.stack.copy_from(half.stack.detach());
            for (std::uint64_t step = 0; step < 20; ++step) {
                half.step(step);
                full.step(step);
            }
            EXPECT_EQ(half.matrix.dtype(), dtype);
            EXPECT_TRUE(same_bits(half.matrix, full.matrix.detach().to(dtype))) << name;
            EXPECT_TRUE(same_bits(half.vector, full.vector.detach().to(dtype))) << name;
            EXPECT_TRUE(same_bits(half.stack, full.stack.detach().to(dtype))) << name;
        }
    }
}

TEST(Optimizer, VectorsDoNotDecay) {
    for (const char* name : {"sgd", "adamw", "adafactor"}) {
        Model model(every_optimizer.at(name), {8, 16}, DType::F32);
        const Tensor matrix = model.matrix.clone(), vector = model.vector.clone();
        model.optimizer->step(0.1);  // on gradients of zero
        EXPECT_TRUE(same_bits(model.vector, vector)) << name;
        EXPECT_FALSE(same_bits(model.matrix, matrix)) << name;
        EXPECT_LT(relative_error(model.matrix, matrix), 0.011) << name;
    }
}

TEST(Optimizer, RestoredStateContinuesWithTheSameBits) {
    for (const DType dtype : {DType::F32, DType::BF16}) {
        for (const auto& [name, make] : every_optimizer) {
            Model model(make, {9, 17}, dtype), resumed(make, {9, 17}, dtype);
            for (std::uint64_t step = 0; step < 3; ++step) model.step(step);
            std::map<std::string, Tensor> saved;
            model.optimizer->visit_state([&](const std::string& key, const Tensor& state) {
                EXPECT_TRUE(saved.emplace(key, state.clone()).second) << key;
            });
            resumed.buffer->values().copy_from(model.buffer->values());
            resumed.optimizer->visit_state(
                [&](const std::string& key, const Tensor& state) { state.copy_from(saved.at(key)); });
            EXPECT_EQ(resumed.optimizer->steps(), 3);
            model.step(7);
            resumed.step(7);
            EXPECT_TRUE(same_bits(model.buffer->values(), resumed.buffer->values())) << name;
        }
    }
}

// The plain definition of torch's Nesterov momentum.
TEST(Optimizer, NesterovLooksAhead) {
    Model model(sgd({.momentum = 0.9, .nesterov = true}), {4, 8}, DType::F64);
    std::vector<double> expected = model.matrix.to_vector<double>(), momentum(expected.size());
    for (std::uint64_t step = 0; step < 4; ++step) {
        model.step(step);
        const std::vector<double> gradient = model.matrix.grad().to_vector<double>();
        for (std::size_t i = 0; i < expected.size(); ++i) {
            momentum[i] = step == 0 ? gradient[i] : 0.9 * momentum[i] + gradient[i];
            expected[i] -= 0.01 * (gradient[i] + 0.9 * momentum[i]);
        }
    }
    EXPECT_LE(relative_error(model.matrix, Tensor::from(expected, {4, 8})), 1e-14);
}

TEST(Optimizer, AdafactorsRelativeStepTakesNoLearningRate) {
    const MakeOptimizer relative = adafactor({.relative_step = true}), given = adafactor({});
    Model a(relative, {9, 17}, DType::F32), b(given, {9, 17}, DType::F32);
    a.step(1);  // both would use 0.01 in the first steps
    b.step(1);
    EXPECT_TRUE(same_bits(a.buffer->values(), b.buffer->values()));
    a.optimizer->step(123.0);
    b.optimizer->step(0.01);
    EXPECT_TRUE(same_bits(a.buffer->values(), b.buffer->values()));
}

// (L, R, C) is a stack of matrices, each with its own means.
TEST(Optimizer, AdafactorMatchesItsDefinitionOnAStack) {
    constexpr std::int64_t stack = 3, rows = 37, columns = 5;
    Tensor w = random_tensor({stack, rows, columns}, 5);
    w.set_requires_grad();
    const ParameterBuffer buffer({{"w", w}});
    Adafactor optimizer(buffer, {.beta1 = 0.8, .clip_threshold = 0.7});
    std::vector<double> expected = w.to_vector<double>(), first(expected.size());
    std::vector<double> row_mean(stack * rows), column_mean(stack * columns);
    for (std::uint64_t step = 1; step <= 3; ++step) {
        w.grad().copy_from(random_tensor(w.shape(), 100 + step));
        const std::vector<double> g = w.grad().to_vector<double>();
        optimizer.step(0.05);
        const double beta2 = 1 - std::pow(static_cast<double>(step), -0.8);
        for (double& mean : row_mean) mean *= beta2;
        for (double& mean : column_mean) mean *= beta2;
        for (std::size_t i = 0; i < g.size(); ++i) {
            row_mean[i / columns] += (1 - beta2) * (g[i] * g[i] + 1e-30) / columns;
            column_mean[i / (rows * columns) * columns + i % columns] += (1 - beta2) * (g[i] * g[i] + 1e-30) / rows;
        }
        std::vector<double> update(g.size());
        double update_squares = 0, squares = 0;
        for (std::size_t i = 0; i < g.size(); ++i) {
            const std::size_t matrix = i / (rows * columns);
            double mean = 0;
            for (std::size_t r = 0; r < rows; ++r) mean += row_mean[matrix * rows + r] / rows;
            update[i] = g[i] / std::sqrt(row_mean[i / columns] / mean * column_mean[matrix * columns + i % columns]);
            update_squares += update[i] * update[i];
            squares += expected[i] * expected[i];
        }
        const double count = static_cast<double>(g.size());
        const double clip = std::max(1.0, std::sqrt(update_squares / count) / 0.7);
        const double rate = 0.05 * std::max(1e-3, std::sqrt(squares / count));
        for (std::size_t i = 0; i < g.size(); ++i) {
            first[i] = 0.8 * first[i] + 0.2 * rate * update[i] / clip;
            expected[i] -= first[i];
        }
    }
    EXPECT_LE(relative_error(w, Tensor::from(expected, w.shape())), 1e-13);
}

TEST(Optimizer, NesterovWithoutMomentumIsRefused) {
    Tensor w = Tensor::zeros({2, 2});
    w.set_requires_grad();
    const ParameterBuffer buffer({{"w", w}});
    EXPECT_THROW(Sgd(buffer, {.nesterov = true}), Error);
}

}  // namespace
}  // namespace tessera::training
