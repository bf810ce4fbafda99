// Three ways to compute a sliding window and the fused op give the same, forwards and backwards.
#include <gtest/gtest.h>

#include "ops/window_ways_reference.h"
#include "support/op_case.h"
#include "tessera/ops/attention.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

struct Result {
    Tensor out;
    std::vector<Tensor> gradients;
};

Tensor some(const Shape& shape, std::uint64_t seed) {
    const Tensor values = Tensor::empty(shape, DType::F64);
    for (std::int64_t i = 0; i < values.elements(); ++i)
        values.data<double>()[i] = 2 * uniform(random_bits({.seed = seed}, static_cast<std::uint64_t>(i))) - 1;
    return values;
}

// (H, T, D) through the fused op, which wants (B, T, H, D).
Tensor window_by_fused_op(const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t window) {
    const auto turned = [](const Tensor& x) {
        return ops::reshape(ops::transpose(x, 0, 1), {1, x.size(1), x.size(0), x.size(2)});
    };
    const Tensor out =
        ops::attention(turned(query), turned(key), turned(value), {.mask = ops::AttentionMask::sliding(window)});
    return ops::transpose(ops::reshape(out, {query.size(1), query.size(0), value.size(2)}), 0, 1);
}

template <class Way>
Result run(Way&& way, std::int64_t time, std::int64_t window) {
    constexpr std::int64_t heads = 2, width = 5;
    std::vector<Tensor> inputs;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        inputs.push_back(some({heads, time, width}, seed));
        inputs.back().set_requires_grad(true);
    }
    Result result{.out = way(inputs[0], inputs[1], inputs[2], window), .gradients = {}};
    backward(ops::sum(ops::mul(result.out, some({heads, time, width}, 4))));
    for (const Tensor& input : inputs) result.gradients.push_back(input.grad());
    return result;
}

void expect_near(const Tensor& a, const Tensor& b, const char* what) {
    ASSERT_EQ(a.shape(), b.shape());
    const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 1e-12) << what << " at " << i;
}

TEST(WindowWays, AllGiveTheSame) {
    // Shorter than the window, as long, a multiple of it, and none; windows of one and of all.
    for (const auto& [time, window] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {3, 4}, {4, 4}, {12, 4}, {13, 4}, {1, 1}, {6, 1}, {9, 9}, {17, 5}}) {
        SCOPED_TRACE(::testing::Message() << "T " << time << ", window " << window);
        const Result mask = run(window_by_mask, time, window);
        const std::pair<const char*, Result> others[] = {{"loop", run(window_by_loop, time, window)},
                                                         {"chunks", run(window_by_chunks, time, window)},
                                                         {"fused", run(window_by_fused_op, time, window)}};
        for (const auto& [name, other] : others) {
            expect_near(mask.out, other.out, name);
            for (std::size_t i = 0; i < 3; ++i) expect_near(mask.gradients[i], other.gradients[i], name);
        }
    }
}

// The window's edge by hand: with equal scores a query takes the mean of the values it sees.
TEST(WindowWays, AQuerySeesItselfAndThoseJustBefore) {
    const Tensor zeros = Tensor::zeros({1, 5, 1}, DType::F64),
                 values = Tensor::from(std::vector<double>{1, 2, 4, 8, 16}, {1, 5, 1});
    const std::vector<double> expected{1, 1.5, 7.0 / 3, 14.0 / 3, 28.0 / 3};
    for (const auto& way : {window_by_mask, window_by_loop, window_by_chunks, window_by_fused_op}) {
        const std::vector<double> got = way(zeros, zeros, values, 3).to_vector<double>();
        for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-12);
    }
}

}  // namespace
}  // namespace tessera::testing
