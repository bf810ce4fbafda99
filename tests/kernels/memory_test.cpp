#include "tessera/kernels/memory.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/random_view.h"
#include "tessera/core/parallel.h"

namespace tessera {
namespace {

constexpr DType plain[] = {DType::F64, DType::F32, DType::BF16, DType::F16, DType::I64, DType::I32, DType::U8};

Tensor counting(const Shape& shape, DType dtype) {
    const Tensor out = Tensor::empty(shape, DType::I64);
    for (std::int64_t i = 0; i < out.elements(); ++i) out.data<std::int64_t>()[i] = i % 251;
    return out.to(dtype);
}

TEST(Copy, BetweenAnyViews) {
    testing::Draw draw(71);
    for (int trial = 0; trial < 1000; ++trial) {
        const Tensor from = testing::random_view(draw, {.max_size = trial % 10 == 0 ? 20 : 6});
        const Tensor to = trial % 2 ? testing::scrambled_layout(from) : Tensor::empty(from.shape(), DType::F64);
        to.fill(-1);
        kernels::copy.on(cpu)(from.view(), to.view());
        for (std::int64_t i = 0; i < from.elements(); ++i)
            ASSERT_EQ(testing::element(to, i), testing::element(from, i))
                << text_of(from.shape(), " with strides ", from.strides(), " to ", to.strides());
    }
}

TEST(Copy, TransposesOfEverySizeAndElement) {
    for (const DType dtype : plain)
        for (const std::int64_t rows : {1, 7, 8, 31, 33, 100})
            for (const std::int64_t columns : {1, 8, 32, 65, 127}) {
                const Tensor x = counting({3, rows, columns}, dtype), out = ops::transpose(x, 0, 2).clone();
                const auto values = x.to_vector<double>(), moved = out.to_vector<double>();
                for (std::int64_t i = 0; i < 3; ++i)
                    for (std::int64_t j = 0; j < rows; ++j)
                        for (std::int64_t k = 0; k < columns; ++k)
                            ASSERT_EQ(moved[static_cast<std::size_t>((k * rows + j) * 3 + i)],
                                      values[static_cast<std::size_t>((i * rows + j) * columns + k)])
                                << text_of(dtype, " ", x.shape());
            }
}

TEST(Copy, BetweenAllDtypes) {
    for (const DType from : plain)
        for (const DType to : plain) {
            const Tensor x = counting({5, 67}, from);
            EXPECT_EQ(x.to(to).to_vector<double>(), x.to_vector<double>()) << text_of(from, " to ", to);
            const Tensor scrambled = testing::scrambled_layout(x);
            EXPECT_EQ(scrambled.to(to).to_vector<double>(), x.to_vector<double>()) << text_of(from, " to ", to);
        }
    const Tensor truth = counting({300}, DType::F32).to(DType::Bool);
    EXPECT_EQ(truth.to(DType::I64).to_vector<double>(), truth.to(DType::F32).to_vector<double>());
    EXPECT_EQ(truth.data<bool>()[0], false);
    EXPECT_EQ(truth.data<bool>()[250], true);
    EXPECT_EQ(truth.data<bool>()[251], false);
}

// Large results go past the caches, from an aligned start on: every byte must still arrive, and none beyond.
TEST(Copy, LargeAndUnaligned) {
    const std::int64_t count = (17 << 20) + 77;
    const Tensor from = counting({count}, DType::U8);
    for (const std::int64_t shift : {0, 1, 63}) {
        const Tensor room = Tensor::full({count + 128}, 255, DType::U8);
        ops::slice(room, 0, 64 + shift, 64 + shift + count - 5).copy_from(ops::slice(from, 0, 5, count));
        const auto* bytes = room.data<std::uint8_t>();
        ASSERT_EQ(bytes[63 + shift], 255);
        ASSERT_EQ(bytes[64 + shift + count - 5], 255);
        for (std::int64_t i = 5; i < count; ++i) ASSERT_EQ(bytes[64 + shift + i - 5], i % 251) << i;
    }
}

TEST(Fill, LargeAndUnaligned) {
    const std::int64_t count = (5 << 20) + 3;
    for (const std::int64_t shift : {16, 1, 15}) {
        const Tensor room = Tensor::zeros({count + 32});
        ops::slice(room, 0, shift, shift + count).fill(3.5);
        const float* values = room.data<float>();
        ASSERT_EQ(values[shift - 1], 0);
        ASSERT_EQ(values[shift + count], 0);
        for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(values[shift + i], 3.5f) << i;
    }
}

TEST(Fill, EveryDtypeAndStrides) {
    for (const DType dtype : plain) {
        const Tensor room = Tensor::zeros({9, 11}, dtype);
        ops::slice(ops::transpose(room, 0, 1), 0, 1, 10, 3).fill(7);
        const auto values = room.to_vector<double>();
        for (std::size_t i = 0; i < values.size(); ++i)
            EXPECT_EQ(values[i], i % 11 == 1 || i % 11 == 4 || i % 11 == 7 ? 7 : 0) << text_of(dtype, " ", i);
    }
}

TEST(Accumulate, AddsIntoAnyViewAndDtype) {
    testing::Draw draw(12);
    constexpr DType floats[] = {DType::F64, DType::F32, DType::BF16, DType::F16};
    for (int trial = 0; trial < 200; ++trial) {
        const Tensor pattern = testing::random_view(draw);
        for (const DType from : floats)
            for (const DType into : floats) {
                const Tensor more = counting(pattern.shape(), from);
                const Tensor sum = testing::scrambled_layout(Tensor::full(pattern.shape(), 3, into));
                kernels::accumulate.on(cpu)(more.view(), sum.view());
                const auto values = more.to_vector<double>(), sums = sum.to_vector<double>();
                for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(sums[i], values[i] + 3);
            }
    }
}

TEST(Copy, ShapesMustAgree) {
    testing::expect_error([] { kernels::copy.on(cpu)(Tensor::zeros({2}).view(), Tensor::zeros({3}).view()); },
                          {"(2)", "(3)"});
    testing::expect_error([] { Tensor::zeros({2}).copy_from(Tensor::zeros({3})); }, {"copy", "(3)", "(2)"});
}

}  // namespace
}  // namespace tessera
