#include "tessera/ops/rope.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

constexpr ops::RopeOptions halves{.pairing = ops::RopePairing::HalfSplit};
constexpr ops::RopeOptions adjacent{.pairing = ops::RopePairing::Adjacent};

// (…, D) from pairs side by side to halves: element 2j goes to j, 2j + 1 to j + D/2.
Tensor to_halves(const Tensor& x) {
    Shape pairs = x.shape();
    pairs[x.rank() - 1] /= 2;
    pairs.push_back(2);
    return ops::reshape(ops::transpose(ops::reshape(x, pairs), -1, -2), x.shape());
}

double dot(const Tensor& a, const Tensor& b) {
    const auto x = a.to_vector<double>(), y = b.to_vector<double>();
    double total = 0;
    for (std::size_t i = 0; i < x.size(); ++i) total += x[i] * y[i];
    return total;
}

Tensor at(std::int64_t position) { return Tensor::from<std::int64_t>({position}, {1}); }

TEST(Rope, PairingsArePermutationsOfEachOther) {
    for (const DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F16}) {
        const Tensor x = random_tensor({2, 9, 3, 32}, 1, -1, 1, dtype), positions = Tensor::arange(9);
        const Tensor frequencies = ops::rope_frequencies(32, 10000).inverse_frequencies;
        const Tensor one = to_halves(ops::rope(x, positions, frequencies, adjacent));
        const Tensor other = ops::rope(to_halves(x), positions, frequencies, halves);
        EXPECT_LE(relative_error(one, other), dtype == DType::F64 ? 1e-15 : dtype == DType::F32 ? 1e-7 : 1e-3);
    }
}

TEST(Rope, KeepsNorms) {
    const Tensor x = random_tensor({1, 1, 1, 64}, 1);
    const Tensor frequencies = ops::rope_frequencies(64, 10000).inverse_frequencies;
    for (const std::int64_t position : {0, 1, 77, 131071, 10000000})
        for (const auto& options : {halves, adjacent}) {
            const Tensor y = ops::rope(x, at(position), frequencies, options);
            EXPECT_NEAR(dot(y, y), dot(x, x), 1e-12) << position;
        }
}

TEST(Rope, PositionZeroChangesNothing) {
    const Tensor x = random_tensor({1, 1, 2, 34}, 1, -1, 1, DType::F32);
    const Tensor frequencies = ops::rope_frequencies(32, 10000).inverse_frequencies;
    EXPECT_TRUE(same_bits(ops::rope(x, at(0), frequencies), x));
}

TEST(Rope, ScoresDependOnTheDistanceOnly) {
    const Tensor query = random_tensor({1, 1, 1, 64}, 1), key = random_tensor({1, 1, 1, 64}, 2);
    // Powers of two: their products with positions are exact, so the f32 angle adds no error.
    std::vector<float> rates;
    for (int j = 0; j < 32; ++j) rates.push_back(std::ldexp(1.0f, -j / 4));
    const Tensor frequencies = Tensor::from(rates, {32});
    const auto score = [&](std::int64_t m, std::int64_t n) {
        return dot(ops::rope(query, at(m), frequencies), ops::rope(key, at(n), frequencies));
    };
    for (const std::int64_t distance : {0, 1, 13, 500})
        for (const std::int64_t from : {1, 100, 30000})
            EXPECT_NEAR(score(from + distance, from), score(distance, 0), 1e-9) << distance << " from " << from;
    EXPECT_GT(std::fabs(score(13, 0) - score(14, 0)), 1e-3);
}

// Far positions: the angle is the f32 product, its sine and cosine are those of that number.
TEST(Rope, FarAnglesAreThoseOfTheRoundedProduct) {
    const Tensor x = Tensor::from<float>({1, 0}, {1, 1, 1, 2});
    for (const std::int64_t position : {3, 4097, 131071, 5000001}) {
        const float rate = 0.7309f, angle = static_cast<float>(position) * rate;
        const auto y = ops::rope(x, at(position), Tensor::from<float>({rate}, {1})).to_vector<float>();
        EXPECT_NEAR(y[0], std::cos(static_cast<double>(angle)), 6e-8) << position;
        EXPECT_NEAR(y[1], std::sin(static_cast<double>(angle)), 6e-8) << position;
    }
}

TEST(Rope, GradientTurnsBack) {
    Tensor x = random_tensor({2, 5, 3, 16}, 1);
    x.set_requires_grad();
    const Tensor frequencies = ops::rope_frequencies(16, 10000).inverse_frequencies;
    const Tensor y = ops::rope(x, Tensor::arange(5), frequencies);
    backward({y}, {y.detach()});  // R⁻¹ R x
    EXPECT_LE(relative_error(x.grad(), x.detach()), 1e-15);
}

// The usual layouts: heads cut from a fused projection, and heads moved in front of time.
TEST(Rope, StridedInputsNeedNoCopy) {
    const Tensor fused = random_tensor({2, 7, 3 * 4 * 32}, 1, -1, 1, DType::F32);
    const Tensor frequencies = ops::rope_frequencies(32, 10000).inverse_frequencies, positions = Tensor::arange(7);
    const Tensor query = ops::reshape(ops::slice(fused, 2, 128, 256), {2, 7, 4, 32});
    EXPECT_EQ(query.storage(), fused.storage());
    const Tensor expected = ops::rope(query.clone(), positions, frequencies);
    EXPECT_TRUE(same_bits(ops::rope(query, positions, frequencies), expected));
    const Tensor heads_first = ops::transpose(ops::transpose(query, 1, 2).clone(), 1, 2);
    EXPECT_TRUE(same_bits(ops::rope(heads_first, positions, frequencies), expected));
}

TEST(Rope, StreamedRowsAreTheSame) {
    const Tensor frequencies = ops::rope_frequencies(64, 10000).inverse_frequencies;
    const std::int64_t time = 3, heads = 4, batch = (std::int64_t{20} << 20) / (4 * time * heads * 80);
    const Tensor one = random_tensor({1, time, heads, 80}, 1, -1, 1, DType::F32);
    const Tensor many = ops::expand(one, {batch, time, heads, 80});
    for (const auto& options : {halves, adjacent}) {
        const Tensor small = ops::rope(one, Tensor::arange(time), frequencies, options);
        const Tensor large = ops::rope(many, Tensor::arange(time), frequencies, options);
        const std::int64_t each = small.elements();
        for (std::int64_t b = 0; b < batch; ++b)
            ASSERT_TRUE(std::equal(small.data<float>(), small.data<float>() + each, large.data<float>() + b * each));
    }
}

TEST(Rope, BadInputSaysWhat) {
    const Tensor x = Tensor::empty({2, 5, 3, 8}), rates = Tensor::full({4}, 1), positions = Tensor::arange(5);
    expect_error([&] { ops::rope(Tensor::empty({5, 8}), positions, rates); }, {"rope", "(5, 8)"});
    expect_error([&] { ops::rope(x, Tensor::arange(4), rates); }, {"rope", "(4)", "(2, 5, 3, 8)"});
    expect_error([&] { ops::rope(x, Tensor::zeros({5}), rates); }, {"rope", "f32"});
    expect_error([&] { ops::rope(x, positions, Tensor::full({5}, 1)); }, {"rope", "5 pairs", "(2, 5, 3, 8)"});
    expect_error([&] { ops::rope(x, positions, Tensor::full({4}, 1, DType::F64)); }, {"rope", "f64"});
}

}  // namespace
}  // namespace tessera::testing
