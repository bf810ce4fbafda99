// The CUDA device under the ops: memory, copies, conversions, order and repeatability. Ops themselves are compared
// device against device in the op harness. Without a device everything here skips, but for what a program then says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "tessera/core/memory.h"
#include "tessera/kernels/gemm.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/norm.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

constexpr DType plain_dtypes[] = {DType::F64, DType::F32, DType::BF16, DType::F16,
                                  DType::I64, DType::I32, DType::U8,   DType::Bool};

class Cuda : public ::testing::Test {
   protected:
    void SetUp() override {
        if (!available(DeviceKind::CUDA)) GTEST_SKIP() << "no CUDA device";
    }
};

TEST(WithoutCuda, AskingForItIsOneClearError) {
    if (available(DeviceKind::CUDA)) GTEST_SKIP() << "there is a CUDA device";
    const bool built_in = find_driver(DeviceKind::CUDA) != nullptr;
    const std::string text = built_in ? "cuda:0: no such device, 0 found" : "built without cuda";
    expect_error([] { Tensor::zeros({2}, DType::F32, cuda); }, {text});
    expect_error([] { Tensor::zeros({2}).to(cuda); }, {text});
}

TEST_F(Cuda, DevicesBeyondTheLastAreRefused) {
    const Device last{DeviceKind::CUDA, 200};
    expect_error([&] { Tensor::zeros({2}, DType::F32, last); }, {"cuda:200: no such device"});
}

TEST_F(Cuda, EveryDTypeSurvivesTheRoundTrip) {
    for (const DType dtype : plain_dtypes)
        for (const Shape& shape : {Shape{}, Shape{1}, Shape{0}, Shape{7, 33}, Shape{1000, 1031}}) {
            const Tensor here = random_tensor(shape, 3, 0, 200).to(dtype);
            const Tensor there = here.to(cuda);
            EXPECT_EQ(there.device(), cuda);
            EXPECT_TRUE(same_bits(here, there.to(cpu))) << name(dtype) << text_of(shape);
        }
}

TEST_F(Cuda, QuantisedBlocksTravelAsBytes) {
    const Tensor here = Tensor::zeros({4, 64}, DType::Q8_0);
    std::fill_n(static_cast<char*>(here.view().data), bytes_of(DType::Q8_0, 256), 'x');
    const Tensor back = here.to(cuda).to(cpu);
    EXPECT_EQ(static_cast<char*>(back.view().data)[bytes_of(DType::Q8_0, 256) - 1], 'x');
}

TEST_F(Cuda, StridedCopiesMoveTheRightValues) {
    for (const DType dtype : plain_dtypes) {
        const Tensor here = random_tensor({5, 16, 24}, 4, 0, 100).to(dtype), there = here.to(cuda);
        const auto expect_same = [&](const char* what, const auto& view) {
            EXPECT_TRUE(same_bits(view(here).clone(), view(there).clone())) << what << " " << name(dtype);
        };
        expect_same("permuted", [](const Tensor& x) { return ops::permute(x, {2, 0, 1}); });
        expect_same("swapped", [](const Tensor& x) { return ops::transpose(x, 0, 1); });
        expect_same("sliced", [](const Tensor& x) { return ops::slice(x, 2, 1, 20, 3); });
        expect_same("narrowed to whole packs", [](const Tensor& x) { return ops::slice(x, 2, 8, 24); });
        expect_same("off alignment", [](const Tensor& x) { return ops::slice(x, 2, 1, 17); });
        expect_same("stretched", [](const Tensor& x) { return ops::expand(ops::slice(x, 1, 2, 3), {5, 9, 24}); });
        expect_same("stretched inside", [](const Tensor& x) {
            return ops::expand(ops::slice(x, 2, 3, 4), {5, 16, 8});
        });
        expect_same("scrambled", [](const Tensor& x) { return scrambled_layout(x); });
    }
}

TEST_F(Cuda, WritingThroughAViewLeavesTheRestAlone) {
    const Tensor there = Tensor::zeros({6, 10}, DType::F32, cuda);
    ops::slice(there, 1, 3, 8, 2).copy_from(Tensor::full({6, 3}, 2, DType::F32, cuda));
    ops::select(there, 0, 5).fill(7);
    const std::vector<float> values = there.to_vector<float>();
    for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 10; ++j) {
            const float expected = i == 5 ? 7.0f : (j == 3 || j == 5 || j == 7) ? 2.0f : 0.0f;
            EXPECT_EQ(values[static_cast<std::size_t>(i * 10 + j)], expected) << i << ", " << j;
        }
}

TEST_F(Cuda, ConvertsBetweenAllDTypesAsTheCpuDoes) {
    std::vector<double> values = {0, 1, 2, 3.5, 99.9, 100.5, 0.1, 1.0 / 3, 127, 65};
    for (int i = 0; i < 90; ++i) values.push_back(i * 1.37);
    const Tensor source = Tensor::from(values, {10, 10});
    for (const DType from : plain_dtypes)
        for (const DType to : plain_dtypes) {
            const Tensor here = source.to(from), there = here.to(cuda);
            EXPECT_TRUE(same_bits(here.to(to), there.to(to))) << name(from) << " to " << name(to);
            EXPECT_TRUE(same_bits(ops::transpose(here, 0, 1).to(to), ops::transpose(there, 0, 1).to(to)))
                << name(from) << " to " << name(to) << ", transposed";
        }
}

TEST_F(Cuda, RoundsToSixteenBitsAsTheCpuDoes) {
    std::vector<float> values;
    for (std::uint32_t bits = 0; bits < 0x7f800000u; bits += 8191) values.push_back(std::bit_cast<float>(bits));
    for (const float value : std::vector<float>(values)) values.push_back(-value);
    values.push_back(std::numeric_limits<float>::infinity());
    const Tensor here = Tensor::from(values, {static_cast<std::int64_t>(values.size())}), there = here.to(cuda);
    for (const DType dtype : {DType::BF16, DType::F16}) {
        EXPECT_TRUE(same_bits(here.to(dtype), there.to(dtype))) << name(dtype);
        EXPECT_TRUE(same_bits(here.to(dtype).to(DType::F32), there.to(dtype).to(DType::F32))) << name(dtype);
        const Tensor nan = Tensor::full({1}, std::nan(""), DType::F32, cuda).to(dtype);
        EXPECT_TRUE(std::isnan(nan.item())) << name(dtype);
    }
}

TEST_F(Cuda, FillsEveryDTypeAndLayout) {
    for (const DType dtype : plain_dtypes)
        for (const double value : {0.0, 1.0, 100.1}) {
            EXPECT_TRUE(same_bits(Tensor::full({3, 37}, value, dtype), Tensor::full({3, 37}, value, dtype, cuda)));
            const Tensor here = Tensor::zeros({5, 8}, dtype), there = Tensor::zeros({5, 8}, dtype, cuda);
            ops::slice(here, 1, 1, 7, 2).fill(value);
            ops::slice(there, 1, 1, 7, 2).fill(value);
            EXPECT_TRUE(same_bits(here, there)) << name(dtype) << " " << value;
        }
}

TEST_F(Cuda, GradientsAccumulateAcrossDTypes) {
    for (const DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F16})
        for (const std::int64_t n : {33, 64}) {
            Tensor leaf = Tensor::full({5, n}, 1, dtype, cuda);
            leaf.set_requires_grad();
            for (int step = 0; step < 3; ++step)
                backward({ops::scale(leaf, 2)}, {Tensor::full({5, n}, 1, dtype, cuda)});
            for (const double value : leaf.grad().to_vector<double>()) EXPECT_EQ(value, 6);
        }
}

TEST_F(Cuda, IndicesPastThirtyOneBitsWork) {
    const std::int64_t count = (std::int64_t{1} << 31) + 101;
    const Tensor big = Tensor::full({count}, 7, DType::U8, cuda);
    EXPECT_EQ(ops::slice(big, 0, count - 3, count).to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{7, 7, 7}));
    const Tensor strided = ops::slice(Tensor::zeros({count, 2}, DType::U8, cuda), 1, 1, 2);
    strided.copy_from(ops::reshape(big, {count, 1}));
    const auto tail = ops::slice(strided, 0, count - 2, count).to_vector<std::uint8_t>();
    EXPECT_EQ(tail, (std::vector<std::uint8_t>{7, 7}));
}

TEST_F(Cuda, FreedBlocksAreHandedOutAgain) {
    release_cached(cuda);
    const MemoryStats before = memory_stats(cuda);
    for (int i = 0; i < 10; ++i) {
        const Tensor x = Tensor::empty({1000, 1000}, DType::F32, cuda);
        EXPECT_GE(memory_stats(cuda).bytes_in_use, before.bytes_in_use + 4000000);
    }
    const MemoryStats after = memory_stats(cuda);
    EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
    EXPECT_EQ(after.system_allocations, before.system_allocations + 1);
    EXPECT_GE(after.bytes_cached, 4000000);
    release_cached(cuda);
    EXPECT_EQ(memory_stats(cuda).bytes_cached, 0);
}

TEST_F(Cuda, TooLargeAnAllocationSaysHowLarge) {
    expect_error([] { Tensor::empty({std::int64_t{1} << 45}, DType::F32, cuda); },
                 {"out of memory on cuda:0: wanted 140737488355328 bytes"});
    EXPECT_EQ(Tensor::full({3}, 2, DType::F32, cuda).to_vector<float>(), (std::vector<float>{2, 2, 2}));
}

TEST_F(Cuda, ManyKernelsInARowKeepTheirOrder) {
    Tensor x = Tensor::zeros({1 << 16}, DType::F32, cuda);
    const Tensor one = Tensor::scalar(1, DType::F32, cuda);
    for (int i = 0; i < 1000; ++i) {
        x = ops::add(x, one);  // frees the last x while its kernels may still run
        if (i % 100 == 0)
            x = ops::reshape(ops::contiguous(ops::transpose(ops::reshape(x, {256, 256}), 0, 1)), {1 << 16});
    }
    const std::vector<float> values = x.to_vector<float>();
    EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float value) { return value == 1000; }));
}

TEST_F(Cuda, UploadsDoNotOvertakeKernels) {
    const Tensor x = Tensor::zeros({1 << 20}, DType::F32, cuda);
    for (int i = 1; i <= 20; ++i) {
        const Tensor host = Tensor::full({1 << 20}, i);
        x.copy_from(ops::add(host.to(cuda), x));
    }
    EXPECT_EQ(ops::slice(x, 0, (1 << 20) - 1, 1 << 20).item(), 210);
}

TEST_F(Cuda, SumsOfEveryShapeMatchTheCpu) {
    const auto expect_same = [](const Tensor& x, const Shape& to) {
        const double error = relative_error(ops::sum_to(x.to(cuda), to), ops::sum_to(x, to));
        EXPECT_LE(error, 1e-6) << text_of(x.shape(), " to ", to);
        const double scrambled = relative_error(ops::sum_to(scrambled_layout(x.to(cuda)), to), ops::sum_to(x, to));
        EXPECT_LE(scrambled, 1e-6) << text_of(x.shape(), " to ", to, ", scrambled");
    };
    expect_same(random_tensor({300001}, 5, 0, 1, DType::F32), {1});        // one long sum in parts
    expect_same(random_tensor({3, 20000}, 6, 0, 1, DType::F32), {3, 1});   // rows in parts
    expect_same(random_tensor({40, 2000}, 6, 0, 1, DType::F32), {40, 1});  // a block to a row
    expect_same(random_tensor({700, 37}, 6, 0, 1, DType::F32), {700, 1});  // a warp to a row
    expect_same(random_tensor({5000, 33}, 7, 0, 1, DType::F32), {33});     // columns in parts
    expect_same(random_tensor({20, 3000}, 7, 0, 1, DType::F32), {3000});   // columns at once
    expect_same(random_tensor({6, 50, 7, 90}, 8, 0, 1, DType::F32), {50, 1, 90});
    expect_same(random_tensor({6, 50, 7, 90}, 8, 0, 1, DType::F32), {6, 1, 7, 1});
    const Tensor empty = ops::sum_to(Tensor::zeros({0, 4}, DType::F32, cuda), {4});
    EXPECT_EQ(empty.to_vector<float>(), (std::vector<float>{0, 0, 0, 0}));
}

// Column sums of such rows do not fit into shared memory.
TEST_F(Cuda, VeryWideRowsHaveGradientsToo) {
    for (const std::int64_t width : {7001, 60000}) {
        const auto run = [width](Device device) {
            Tensor x = random_tensor({5, width}, 41, -1, 2, DType::F32).to(device);
            Tensor weight = random_tensor({width}, 42, 0.5, 1.5, DType::F32).to(device);
            Tensor bias = random_tensor({width}, 43, -1, 1, DType::F32).to(device);
            for (Tensor* leaf : {&x, &weight, &bias}) leaf->set_requires_grad();
            const Tensor out = ops::layer_norm(x, weight, bias, 1e-5);
            backward({out}, {random_tensor({5, width}, 44, -1, 1, DType::F32).to(device)});
            return std::vector<Tensor>{out.detach(), x.grad(), weight.grad(), bias.grad()};
        };
        const auto here = run(cpu), there = run(cuda);
        for (std::size_t i = 0; i < here.size(); ++i) EXPECT_LE(relative_error(there[i], here[i]), 2e-6) << i;
    }
}

// The harness tries f32 and bf16; these are the other two.
TEST_F(Cuda, DoubleAndHalfPrecisionMatchTheCpu) {
    for (const auto& [dtype, tolerance] : {std::pair{DType::F64, 1e-12}, std::pair{DType::F16, 2e-3}}) {
        const Tensor x = random_tensor({37, 65}, 11, 0.5, 2, dtype), y = random_tensor({37, 65}, 12, 0.5, 2, dtype);
        const Tensor weight = random_tensor({65}, 13, 0.5, 2, dtype),
                     matrix = random_tensor({20, 65}, 14, -1, 1, dtype);
        const Tensor bias = random_tensor({20}, 15, -1, 1, dtype);
        const auto expect_close = [&, tolerance = tolerance, dtype = dtype](const char* what, const Tensor& there,
                                                                            const Tensor& here) {
            EXPECT_LE(relative_error(there, here), tolerance) << what << " " << name(dtype);
        };
        expect_close("add", ops::add(x.to(cuda), y.to(cuda)), ops::add(x, y));
        expect_close("div", ops::div(x.to(cuda), y.to(cuda)), ops::div(x, y));
        expect_close("sum", ops::sum_to(x.to(cuda), {65}), ops::sum_to(x, {65}));
        expect_close("rms_norm", ops::rms_norm(x.to(cuda), weight.to(cuda)), ops::rms_norm(x, weight));
        expect_close("matmul", ops::matmul(x.to(cuda), y.to(cuda), {.transpose_b = true}),
                     ops::matmul(x, y, {.transpose_b = true}));
        expect_close("linear", ops::linear(x.to(cuda), matrix.to(cuda), bias.to(cuda)), ops::linear(x, matrix, bias));
    }
}

TEST_F(Cuda, IntegersAddAndDivide) {
    for (const DType dtype : {DType::I64, DType::I32}) {
        const Tensor a = Tensor::arange(35, dtype), b = Tensor::full({35}, 4, dtype);
        EXPECT_TRUE(same_bits(ops::add(a, b), ops::add(a.to(cuda), b.to(cuda))));
        EXPECT_TRUE(same_bits(ops::div(a, b), ops::div(a.to(cuda), b.to(cuda))));
        EXPECT_TRUE(same_bits(ops::div(b, a), ops::div(b.to(cuda), a.to(cuda))));  // by zero too: 0
    }
}

// c = alpha · a · b + beta · c + bias, with a c of another dtype or another layout than a product of ops has.
TEST_F(Cuda, ProductsScaleAddAndWriteAnyLayout) {
    const Tensor a = random_tensor({3, 19, 40}, 21, -1, 1, DType::BF16),
                 b = random_tensor({40, 24}, 22, -1, 1, DType::BF16);
    const Tensor bias = random_tensor({24}, 23, -1, 1, DType::F32),
                 c = random_tensor({3, 19, 24}, 24, -1, 1, DType::F32);
    const auto product = [&](Device device, const Tensor& into) {
        kernels::gemm.on(device)(a.to(device).view(), ops::expand(b.to(device), {3, 40, 24}).view(),
                                 bias.to(device).view(), into.view(), {.alpha = 0.5, .beta = -2});
        return into;
    };
    const Tensor expected = ops::add(
        ops::add(ops::scale(ops::matmul(a.to(DType::F64), b.to(DType::F64)), 0.5), ops::scale(c.to(DType::F64), -2)),
        bias.to(DType::F64));
    EXPECT_LE(relative_error(product(cuda, c.to(cuda)), expected), 2e-6);
    EXPECT_LE(relative_error(product(cuda, scrambled_layout(c.to(cuda))), expected), 2e-6);
    const Tensor nothing = ops::linear(Tensor::zeros({3, 0}, DType::F32, cuda), Tensor::zeros({4, 0}, DType::F32, cuda),
                                       Tensor::full({4}, 5, DType::F32, cuda));
    EXPECT_EQ(nothing.to_vector<float>(), std::vector<float>(12, 5.0f));
}

TEST_F(Cuda, TheSameTwiceGivesTheSameBits) {
    for (const DType dtype : {DType::F32, DType::BF16}) {
        const auto run = [dtype] {
            Tensor x = random_tensor({700, 1536}, 31, -1, 1, dtype).to(cuda);
            Tensor weight = random_tensor({1536}, 32, 0.5, 1.5, dtype).to(cuda);
            Tensor matrix = random_tensor({640, 1536}, 33, -1, 1, dtype).to(cuda);
            Tensor bias = random_tensor({640}, 34, -1, 1, dtype).to(cuda);
            for (Tensor* leaf : {&x, &weight, &matrix, &bias}) leaf->set_requires_grad();
            const Tensor out = ops::linear(ops::rms_norm(x, weight), matrix, bias);
            backward({out}, {random_tensor({700, 640}, 35, -1, 1, dtype).to(cuda)});
            return std::vector<Tensor>{out.detach(), x.grad(), weight.grad(), matrix.grad(), bias.grad()};
        };
        const auto first = run(), second = run();
        for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(same_bits(first[i], second[i])) << i;
    }
}

}  // namespace
}  // namespace tessera::testing
