// Every registered case in every mode.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "support/op_case.h"
#include "tessera/core/parallel.h"
#include "tessera/core/random.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

Tensors in_f64(const Tensors& inputs) {
    Tensors out;
    for (const Tensor& input : inputs) out.push_back(is_float(input.dtype()) ? input.to(DType::F64) : input);
    return out;
}

double weighted_sum(const Tensors& outputs) {
    const Gradients weights = output_weights(outputs);
    double total = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!weights[i].defined()) continue;
        const auto values = outputs[i].to_vector<double>(), factors = weights[i].to_vector<double>();
        for (std::size_t j = 0; j < values.size(); ++j) total += values[j] * factors[j];
    }
    return total;
}

struct Outcome {
    Tensors outputs;
    Gradients gradients;
};

Outcome run(const OpCase& op_case, Tensors inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        inputs[i] = inputs[i].detach();
        if (takes_gradient(op_case, i, inputs[i])) inputs[i].set_requires_grad();
    }
    Outcome outcome;
    outcome.outputs = op_case.op(inputs);
    if (op_case.gradient) backward(outcome.outputs, output_weights(outcome.outputs));
    for (Tensor& output : outcome.outputs) output = output.detach();
    for (const Tensor& input : inputs) outcome.gradients.push_back(input.requires_grad() ? input.grad() : Tensor());
    return outcome;
}

void expect_close(const Outcome& value, const Outcome& reference, double tolerance) {
    ASSERT_EQ(value.outputs.size(), reference.outputs.size());
    for (std::size_t i = 0; i < value.outputs.size(); ++i)
        EXPECT_LE(relative_error(value.outputs[i], reference.outputs[i]), tolerance) << "output " << i;
    for (std::size_t i = 0; i < value.gradients.size(); ++i) {
        ASSERT_EQ(value.gradients[i].defined(), reference.gradients[i].defined()) << "gradient of input " << i;
        if (!value.gradients[i].defined()) continue;
        EXPECT_LE(relative_error(value.gradients[i], reference.gradients[i]), tolerance) << "gradient of input " << i;
    }
}

void expect_same_bits(const Outcome& a, const Outcome& b) {
    for (std::size_t i = 0; i < a.outputs.size(); ++i)
        EXPECT_TRUE(same_bits(a.outputs[i], b.outputs[i])) << "output " << i;
    for (std::size_t i = 0; i < a.gradients.size(); ++i) {
        if (!a.gradients[i].defined()) continue;
        EXPECT_TRUE(same_bits(a.gradients[i], b.gradients[i])) << "gradient of input " << i;
    }
}

class EveryOp : public ::testing::TestWithParam<OpCase> {};

TEST_P(EveryOp, MatchesItsDefinitionInF64) {
    const Tensors inputs = make_inputs(GetParam(), DType::F64);
    const Tensors expected = GetParam().reference(inputs);
    const Tensors actual = GetParam().op(inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
        EXPECT_LE(relative_error(actual[i], expected[i]), 1e-12) << "output " << i;
}

TEST_P(EveryOp, GradientMatchesFiniteDifferences) {
    const OpCase& op_case = GetParam();
    if (!op_case.gradient) return;
    const Tensors inputs = make_inputs(op_case, DType::F64);
    const Outcome outcome = run(op_case, inputs);
    const NoGrad no_grad;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!takes_gradient(op_case, i, inputs[i])) continue;
        ASSERT_TRUE(outcome.gradients[i].defined()) << "no gradient reached input " << i;
        // Random directions see every element at once; single elements see scale that directions may average out.
        const std::int64_t elements = inputs[i].elements();
        const std::vector<double> gradient = outcome.gradients[i].to_vector<double>();
        for (int trial = 0; trial < 6; ++trial) {
            std::vector<double> direction(static_cast<std::size_t>(elements), 0.0);
            if (trial < 3)
                direction =
                    random_tensor(inputs[i].shape(), 50 + static_cast<std::uint64_t>(trial)).to_vector<double>();
            else
                direction[random_bits({.seed = 9}, static_cast<std::uint64_t>(trial)) % direction.size()] = 1;
            double analytic = 0, scale = 1e-3;
            auto plus = inputs[i].to_vector<double>(), minus = plus;
            for (std::size_t j = 0; j < direction.size(); ++j) {
                analytic += gradient[j] * direction[j];
                scale += std::fabs(gradient[j] * direction[j]);
                plus[j] += op_case.step * direction[j];
                minus[j] -= op_case.step * direction[j];
            }
            Tensors moved = inputs;
            moved[i] = from_doubles(plus, inputs[i].shape());
            const double above = weighted_sum(op_case.op(moved));
            moved[i] = from_doubles(minus, inputs[i].shape());
            const double numeric = (above - weighted_sum(op_case.op(moved))) / (2 * op_case.step);
            EXPECT_NEAR(analytic, numeric, op_case.gradient_tolerance * scale * 10)
                << "input " << i << ", direction " << trial;
        }
    }
}

TEST_P(EveryOp, LowerPrecisionsStayNearF64) {
    const OpCase& op_case = GetParam();
    if (op_case.f32) {
        const Tensors inputs = make_inputs(op_case, DType::F32);
        expect_close(run(op_case, inputs), run(op_case, in_f64(inputs)), op_case.f32_tolerance);
    }
    if (op_case.half) {
        const Tensors inputs = make_inputs(op_case, DType::BF16);
        expect_close(run(op_case, inputs), run(op_case, in_f64(inputs)), op_case.bf16_tolerance);
    }
}

TEST_P(EveryOp, NonContiguousInputsGiveTheSame) {
    const DType dtype = GetParam().f32 ? DType::F32 : DType::F64;
    const Tensors inputs = make_inputs(GetParam(), dtype);
    Tensors scrambled;
    for (const Tensor& input : inputs) scrambled.push_back(scrambled_layout(input));
    expect_close(run(GetParam(), scrambled), run(GetParam(), inputs), GetParam().f32_tolerance);
}

TEST_P(EveryOp, OneThreadAndTwoGiveTheSameBits) {
    const Tensors inputs = make_inputs(GetParam(), GetParam().f32 ? DType::F32 : DType::F64);
    const int threads = thread_count();
    set_thread_count(2);
    const Outcome two = run(GetParam(), inputs);
    set_thread_count(1);
    const Outcome one = run(GetParam(), inputs);
    set_thread_count(threads);
    expect_same_bits(one, two);
}

TEST_P(EveryOp, CudaMatchesCpu) {
    const OpCase& op_case = GetParam();
    if (!op_case.cuda) return;
    if (!available(DeviceKind::CUDA)) GTEST_SKIP() << "no CUDA device";
    const auto compare = [&](DType dtype, double tolerance) {
        const Tensors inputs = make_inputs(op_case, dtype);
        Tensors there, scrambled;
        for (const Tensor& input : inputs) there.push_back(input.to(cuda));
        for (const Tensor& input : there) scrambled.push_back(scrambled_layout(input));
        // In f64, so that a gradient that should vanish is compared with 0 and not with the CPU's rounding.
        const Outcome here = run(op_case, in_f64(inputs));
        expect_close(run(op_case, there), here, tolerance);
        expect_close(run(op_case, scrambled), here, tolerance);
    };
    if (op_case.f32) compare(DType::F32, 2 * op_case.f32_tolerance);
    if (op_case.half) compare(DType::BF16, 2 * op_case.bf16_tolerance);
}

INSTANTIATE_TEST_SUITE_P(Cases, EveryOp, ::testing::ValuesIn(all_cases()), [](const auto& info) {
    std::string name;
    for (const char c : info.param.name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return name;
});

TEST(Harness, CaseNamesAreUnique) {
    std::set<std::string> names;
    for (const OpCase& op_case : all_cases()) EXPECT_TRUE(names.insert(op_case.name).second) << op_case.name;
    EXPECT_FALSE(names.empty());
}

}  // namespace
}  // namespace tessera::testing
