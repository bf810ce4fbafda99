#include "tessera/tensor/tape.h"

#include <gtest/gtest.h>

#include "support/op_case.h"
#include "tessera/core/memory.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/gather.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/views.h"

namespace tessera {
namespace {

using testing::relative_error;
using testing::same_bits;

Tensor leaf(std::initializer_list<double> values) {
    Tensor tensor = Tensor::from(values, {static_cast<std::int64_t>(values.size())});
    tensor.set_requires_grad();
    return tensor;
}

Tensor total(const Tensor& x) { return ops::sum_to(x.detach(), {}); }

// Recorded sum: multiply by ones and sum by broadcasting backwards would hide the tape, so expand's adjoint is used.
Tensor recorded_total(const Tensor& x) {
    return record("total", total(x), {x},
                  [shape = x.shape()](const Tensor& gradient) -> Gradients { return {ops::expand(gradient, shape)}; });
}

std::vector<double> grad_of(const Tensor& tensor) { return tensor.grad().to_vector<double>(); }

TEST(Tape, AProductsGradientIsTheOtherFactor) {
    const Tensor a = leaf({2, 3}), b = leaf({5, 7});
    backward(recorded_total(ops::mul(a, b)));
    EXPECT_EQ(grad_of(a), (std::vector<double>{5, 7}));
    EXPECT_EQ(grad_of(b), (std::vector<double>{2, 3}));
}

TEST(Tape, EveryUseOfATensorAddsToItsGradient) {
    const Tensor a = leaf({2, 3});
    const Tensor square = ops::mul(a, a);
    backward(recorded_total(ops::add(ops::mul(square, a), square)));  // a³ + a²
    EXPECT_EQ(grad_of(a), (std::vector<double>{3 * 4 + 2 * 2, 3 * 9 + 2 * 3}));
}

TEST(Tape, AddOfOneTensorTwiceDoesNotShareItsGradient) {
    const Tensor a = leaf({1, 1}), b = leaf({1, 1});
    backward(recorded_total(ops::add(ops::add(a, b), a)));
    EXPECT_EQ(grad_of(a), (std::vector<double>{2, 2}));
    EXPECT_EQ(grad_of(b), (std::vector<double>{1, 1}));
}

TEST(Tape, GradientsAccumulateAcrossBackwardCalls) {
    const Tensor a = leaf({2, 3});
    for (int i = 0; i < 3; ++i) backward(recorded_total(ops::scale(a, 2)));
    EXPECT_EQ(grad_of(a), (std::vector<double>{6, 6}));
}

TEST(Tape, GradientsLandInTheGivenBuffer) {
    const Tensor flat = Tensor::zeros({4}, DType::F64);
    const Tensor a = leaf({2, 3});
    a.set_grad(ops::slice(flat, 0, 1, 3));
    backward(recorded_total(ops::scale(a, 2)));
    EXPECT_EQ(flat.to_vector<double>(), (std::vector<double>{0, 2, 2, 0}));
}

// Linear and embedding may add straight into a leaf's buffer; it must be the sum it would have been.
TEST(Tape, AddingStraightIntoABufferIsTheSameAsReturningAGradient) {
    const Tensor table = Tensor(testing::random_tensor({7, 5}, 1, -1, 1, DType::F32)).set_requires_grad();
    const Tensor weight = Tensor(testing::random_tensor({4, 5}, 2, -1, 1, DType::F32)).set_requires_grad();
    const Tensor ids = Tensor::from<std::int64_t>({3, 0, 3, 6}, {4});
    const auto step = [&] { backward(recorded_total(ops::linear(ops::embedding(table, ids), weight))); };
    step();
    const Tensor table_gradient = table.grad().clone(), weight_gradient = weight.grad().clone();
    const Tensor ones = Tensor::full({7, 5}, 1), twos = Tensor::full({4, 5}, 2);
    table.set_grad(ones.clone());
    weight.set_grad(twos.clone());
    step();
    EXPECT_LE(relative_error(table.grad(), ops::add(table_gradient, ones)), 1e-6);
    EXPECT_LE(relative_error(weight.grad(), ops::add(weight_gradient, twos)), 1e-6);
}

TEST(Tape, NothingIsRecordedUnderNoGrad) {
    const Tensor a = leaf({2, 3});
    const std::int64_t before = live_nodes();
    {
        const NoGrad no_grad;
        EXPECT_FALSE(recording());
        EXPECT_FALSE(ops::mul(a, a).requires_grad());
    }
    EXPECT_TRUE(recording());
    EXPECT_EQ(live_nodes(), before);
}

TEST(Tape, BackwardTwiceThroughOneGraphIsAnError) {
    const Tensor a = leaf({2});
    const Tensor square = ops::mul(a, a);
    backward(square);
    EXPECT_THROW(backward(square), Error);
}

TEST(Tape, BackwardOfManyElementsIsAnErrorWithTheShape) {
    const Tensor a = leaf({2, 3});
    try {
        backward(ops::mul(a, a));
        FAIL();
    } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("(2)"), std::string::npos) << error.what();
    }
}

TEST(Tape, AnOpWithoutGradientThrowsWhenAskedForOne) {
    const Tensor a = leaf({2});
    const Tensor out = record_without_gradient("roundish", a.detach().clone(), {a});
    EXPECT_TRUE(out.requires_grad());
    try {
        backward(out);
        FAIL();
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "roundish: has no gradient");
    }
}

TEST(Tape, IndicesCannotRequireAGradient) {
    Tensor indices = Tensor::arange(3);
    EXPECT_THROW(indices.set_requires_grad(), Error);
}

TEST(Tape, NothingIsLeftAliveAfterAStep) {
    const std::int64_t nodes = live_nodes(), storages = Storage::live();
    const std::int64_t blocks = memory_stats(cpu).blocks_in_use;
    {
        const Tensor a = leaf({2, 3}), b = leaf({5, 7});
        for (int step = 0; step < 3; ++step) {
            const Tensor product = ops::mul(a, b);
            const Tensor loss = recorded_total(ops::div(product, ops::add(a, product)));
            EXPECT_GT(live_nodes(), nodes);
            backward(loss);
        }
        const Tensor abandoned = ops::mul(a, b);  // recorded, never gone back through
    }
    EXPECT_EQ(live_nodes(), nodes);
    EXPECT_EQ(Storage::live(), storages);
    EXPECT_EQ(memory_stats(cpu).blocks_in_use, blocks);
}

TEST(Tape, BackwardFreesAsItGoes) {
    Tensor x = Tensor::full({1 << 16}, 1.0001);
    x.set_requires_grad();
    Tensor y = x;
    const std::int64_t start = memory_stats(cpu).bytes_in_use;
    for (int i = 0; i < 16; ++i) y = ops::mul(y, y);
    const std::int64_t recorded = memory_stats(cpu).bytes_in_use - start;
    Tensor loss = recorded_total(y);
    y = {};
    reset_peak(cpu);
    backward(loss);
    const std::int64_t extra = memory_stats(cpu).peak_bytes - start - recorded;
    EXPECT_LT(extra, recorded / 2) << "backward holds saved values longer than it needs them";
}

TEST(Tape, AVeryLongChainIsTakenApartWithoutRecursion) {
    const Tensor a = leaf({1});
    Tensor y = a;
    for (int i = 0; i < 200000; ++i) y = ops::shift(y, 0);
    y = {};
    SUCCEED();
}

TEST(Recompute, GivesTheSameBitsAndGradientsAndKeepsLess) {
    const Tensor weight = Tensor(testing::random_tensor({64}, 3)).set_requires_grad();
    const Tensor x = Tensor(testing::random_tensor({64}, 4)).set_requires_grad();
    const Function block = [&](const std::vector<Tensor>& in) {
        Tensor y = in[0];
        for (int i = 0; i < 5; ++i) y = ops::mul(ops::add(y, weight), y);
        return std::vector<Tensor>{y};
    };
    const Tensor direct = block({x})[0];
    const std::int64_t nodes_before = live_nodes();
    backward(recorded_total(direct));
    const Tensor weight_gradient = weight.grad().clone(), x_gradient = x.grad().clone();
    weight.set_grad({});
    x.set_grad({});

    const std::int64_t nodes = live_nodes();
    const Tensor again = recompute(block, {x})[0];
    EXPECT_EQ(live_nodes(), nodes + 1) << "only the block as a whole is on the tape";
    EXPECT_GT(nodes_before, nodes + 1);
    EXPECT_TRUE(same_bits(direct.detach(), again.detach()));
    backward(recorded_total(again));
    EXPECT_TRUE(same_bits(weight_gradient, weight.grad()));
    EXPECT_TRUE(same_bits(x_gradient, x.grad()));
}

TEST(Recompute, ParametersLearnEvenIfNoInputDoes) {
    const Tensor weight = leaf({3});
    const Tensor x = Tensor::from({2.0}, {1});
    backward(
        recompute([&](const std::vector<Tensor>& in) { return std::vector<Tensor>{ops::mul(in[0], weight)}; }, {x})[0]);
    EXPECT_EQ(grad_of(weight), (std::vector<double>{2}));
}

TEST(Recompute, Nests) {
    const Tensor x = leaf({1.5});
    const Function square = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{ops::mul(in[0], in[0])}; };
    const Function twice = [&](const std::vector<Tensor>& in) { return recompute(square, recompute(square, in)); };
    backward(recompute(twice, {x})[0]);
    EXPECT_EQ(grad_of(x), (std::vector<double>{4 * 1.5 * 1.5 * 1.5}));
}

}  // namespace
}  // namespace tessera
