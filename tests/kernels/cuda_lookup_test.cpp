// Lookups, choices and quantised weights on a CUDA device: bits, order among equals, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "support/quantised.h"
#include "tessera/core/random.h"
#include "tessera/ops/dropout.h"
#include "tessera/ops/gather.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera {
namespace {

using testing::expect_error;
using testing::random_tensor;
using testing::same_bits;

class CudaLookup : public ::testing::Test {
    void SetUp() override {
        if (!available(DeviceKind::CUDA)) GTEST_SKIP() << "no CUDA device";
    }
};

Tensor ids_of(std::initializer_list<std::int64_t> values) {
    return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
}

TEST_F(CudaLookup, AnIndexOutOfRangeIsNamedAndTheDeviceLivesOn) {
    const Tensor table = random_tensor({10, 4}, 1, -1, 1, DType::F32).to(cuda);
    expect_error([&] { ops::embedding(table, ids_of({1, 10}).to(cuda)); }, {"id 10", "vocabulary of 10"});
    expect_error([&] { ops::embedding(table, ids_of({3, -1, 20}).to(DType::I32).to(cuda)); }, {"id -1"});
    expect_error([&] { ops::gather(table, 1, Tensor::full({2, 1}, 4, DType::I64, cuda)); }, {"index 4", "size 4"});
    expect_error(
        [&] {
            ops::scatter_add(table, 0, Tensor::full({2, 4}, -3, DType::I64, cuda), Tensor::zeros({2, 4}).to(cuda));
        },
        {"scatter_add", "index -3"});
    EXPECT_TRUE(
        same_bits(ops::embedding(table, ids_of({9, 0}).to(cuda)), ops::embedding(table.to(cpu), ids_of({9, 0}))));
    EXPECT_EQ(ops::embedding(table, Tensor::empty({2, 0}, DType::I64, cuda)).shape(), (Shape{2, 0, 4}));
}

TEST_F(CudaLookup, EmbeddingGradientsAreAddedInOrder) {
    const std::int64_t tokens = 5000;
    const Tensor ids = Tensor::empty({tokens}, DType::I64);
    for (std::int64_t i = 0; i < tokens; ++i)
        ids.data<std::int64_t>()[i] = random_bits({.seed = 3}, static_cast<std::uint64_t>(i)) % 40;
    for (const DType dtype : {DType::F32, DType::BF16}) {
        const Tensor gradient = random_tensor({tokens, 1300}, 4, -1, 1, dtype);
        const auto run = [&](Device device, bool into_buffer) {
            Tensor table = Tensor::zeros({100, 1300}, dtype, device);
            table.set_requires_grad();
            if (into_buffer) table.set_grad(Tensor::zeros({100, 1300}, dtype, device));
            backward({ops::embedding(table, ids.to(device))}, {gradient.to(device)});
            return table.grad();
        };
        // The same sums in the same order: the CPU's bits.
        EXPECT_TRUE(same_bits(run(cuda, false), run(cpu, false)));
        EXPECT_TRUE(same_bits(run(cuda, true), run(cpu, true)));
    }
}

TEST_F(CudaLookup, DropsTheSameElementsAsTheCpu) {
    for (const DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F16}) {
        const Tensor x = random_tensor({7, 1031}, 2, -1, 1, dtype);
        EXPECT_TRUE(same_bits(ops::dropout(x.to(cuda), 0.3, {.seed = 5, .stream = 9}),
                              ops::dropout(x, 0.3, {.seed = 5, .stream = 9})));
    }
}

TEST_F(CudaLookup, EqualsComeByIndexAndNanFirst) {
    const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
    std::vector<float> values(5000);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 50);
    values[4321] = nan;
    values[77] = infinity;
    values[78] = -infinity;
    for (const Shape& shape : {Shape{1, 5000}, Shape{5, 1000}, Shape{1000, 5}}) {
        const Tensor x = Tensor::from(values, shape), there = x.to(cuda);
        EXPECT_TRUE(same_bits(ops::argmax(there), ops::argmax(x)));
        const auto here = ops::top_k(x, 4), found = ops::top_k(there, 4);
        EXPECT_TRUE(same_bits(found.indices, here.indices)) << x.size(1);
        EXPECT_TRUE(same_bits(found.values, here.values)) << x.size(1);
    }
}

TEST_F(CudaLookup, QuantisedValuesHaveTheHostsBits) {
    for (const DType dtype : testing::quantised_dtypes) {
        const Tensor here = testing::random_quantised({6, 512}, 3, dtype), there = here.to(cuda);
        const Tensor middle = ops::slice(here, 0, 1, 5, 2), middle_there = ops::slice(there, 0, 1, 5, 2);
        for (const DType target : {DType::F64, DType::F32, DType::BF16, DType::F16}) {
            EXPECT_TRUE(same_bits(there.to(target), here.to(target))) << name(dtype);
            EXPECT_TRUE(same_bits(middle_there.to(target), middle.to(target))) << name(dtype);
        }
        EXPECT_TRUE(same_bits(middle_there.clone().to(DType::F32), middle.to(DType::F32))) << name(dtype);
        const Tensor values = random_tensor({3, 256}, 4, -2, 2, DType::F32);
        EXPECT_TRUE(same_bits(values.to(cuda).to(dtype), values.to(dtype))) << name(dtype);
        const Tensor ids = ids_of({5, 0, 2});
        EXPECT_TRUE(same_bits(ops::embedding(there, ids.to(cuda)), ops::embedding(here, ids))) << name(dtype);
    }
}

}  // namespace
}  // namespace tessera
