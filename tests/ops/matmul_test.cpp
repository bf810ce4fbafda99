// What the harness cannot say about matmul: bad input, empty dimensions, 16-bit floats, large products at
// several thread counts, results written into a given buffer.
#include "tessera/ops/matmul.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/op_case.h"
#include "tessera/core/parallel.h"
#include "tessera/kernels/gemm.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

TEST(Matmul, ErrorsNameTheShapes) {
    expect_error([] { ops::matmul(Tensor::zeros({2, 3}), Tensor::zeros({4, 5})); }, {"matmul", "(2, 3)", "(4, 5)"});
    expect_error([] { ops::matmul(Tensor::zeros({3}), Tensor::zeros({3, 5})); }, {"matmul", "(3)", "(3, 5)"});
    expect_error([] { ops::matmul(Tensor::zeros({2, 3}), Tensor::zeros({3, 5}, DType::BF16)); }, {"f32", "bf16"});
    expect_error([] { ops::matmul(Tensor::zeros({2, 4, 3}), Tensor::zeros({3, 3, 5})); }, {"matmul", "(2)", "(3)"});
}

TEST(Matmul, EmptyDimensions) {
    EXPECT_EQ(ops::matmul(Tensor::zeros({0, 3}), Tensor::zeros({3, 5})).shape(), Shape({0, 5}));
    EXPECT_EQ(ops::matmul(Tensor::zeros({2, 0, 3}), Tensor::zeros({3, 5})).shape(), Shape({2, 0, 5}));
    EXPECT_EQ(ops::matmul(Tensor::full({2, 0}, 1), Tensor::full({0, 3}, 1)).to_vector<float>(),
              std::vector<float>(6, 0.0f));
}

TEST(Matmul, ProductsCarryTheSameBitsAtAnyThreadCount) {
    const int threads = thread_count();
    struct Sizes {
        std::int64_t m, n, k;
    };
    for (const DType dtype : {DType::F32, DType::BF16, DType::F16})
        for (const auto [m, n, k] : {Sizes{128, 128, 1024},
                                     {768, 400, 300},
                                     {1, 768, 768},
                                     {64, 64, 4096},
                                     {8, 300, 5000},
                                     {300, 3, 2000},
                                     {200, 1030, 70},
                                     {2000, 192, 192},
                                     {192, 384, 2000},
                                     {1100, 2100, 300},
                                     {16, 16, 16384}})
            for (const bool transpose_b : {false, true}) {
                const Tensor a = random_tensor({m, k}, 1).to(dtype);
                const Tensor b = random_tensor(transpose_b ? Shape{n, k} : Shape{k, n}, 2).to(dtype);
                set_thread_count(1);
                const Tensor one = ops::matmul(a, b, {.transpose_b = transpose_b});
                for (const int count : {2, 3, 8}) {
                    set_thread_count(count);
                    EXPECT_TRUE(same_bits(one, ops::matmul(a, b, {.transpose_b = transpose_b})))
                        << name(dtype) << " " << m << " " << n << " " << k << " at " << count << " threads";
                }
                set_thread_count(threads);
            }
}

TEST(Matmul, AddsIntoAGivenBuffer) {
    for (const DType dtype : {DType::F64, DType::F32, DType::BF16, DType::F16})
        for (const std::int64_t rows : {3, 50})
            for (const std::int64_t inner : {0, 40}) {
                const Tensor a = random_tensor({rows, inner}, 1).to(dtype), b = random_tensor({inner, 30}, 2).to(dtype);
                const Tensor bias = random_tensor({30}, 3).to(dtype), start = random_tensor({rows, 30}, 4).to(dtype);
                const Tensor c = start.clone();
                kernels::gemm.on(cpu)(a.view(), b.view(), bias.view(), c.view(), {.alpha = 0.5, .beta = 2});
                const auto product = ops::matmul(a.to(DType::F64), b.to(DType::F64)).to_vector<double>();
                const auto row = bias.to_vector<double>();
                auto expected = start.to_vector<double>();
                for (std::size_t i = 0; i < expected.size(); ++i)
                    expected[i] = 0.5 * product[i] + 2 * expected[i] + row[i % 30];
                const double tolerance = dtype == DType::BF16 ? 1e-2 : dtype == DType::F16 ? 1e-3 : 1e-6;
                EXPECT_LE(relative_error(c, from_doubles(expected, {rows, 30})), tolerance) << name(dtype) << rows;
            }
}

TEST(Matmul, SixteenBitOperandsMayGiveAFloatResult) {
    for (const DType dtype : {DType::BF16, DType::F16})
        for (const std::int64_t rows : {3, 50}) {
            const Tensor a = random_tensor({rows, 40}, 1).to(dtype), b = random_tensor({40, 30}, 2).to(dtype);
            const Tensor c = Tensor::empty({rows, 30});
            kernels::gemm.on(cpu)(a.view(), b.view(), {}, c.view(), {});
            EXPECT_LE(relative_error(c, ops::matmul(a.to(DType::F64), b.to(DType::F64))), 1e-6);
        }
}

}  // namespace
}  // namespace tessera::testing
