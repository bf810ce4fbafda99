#include "tessera/training/optimizers/parameter_buffer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/op_case.h"
#include "tessera/core/parallel.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::training {
namespace {

using testing::random_tensor;
using testing::relative_error;
using testing::same_bits;

Tensor leaf(const Shape& shape, std::uint64_t seed, DType dtype = DType::F32) {
    Tensor tensor = random_tensor(shape, seed, -1, 1, dtype);
    tensor.set_requires_grad();
    return tensor;
}

TEST(ParameterBuffer, KeepsValuesAndBecomesTheirStorage) {
    Tensor bias = leaf({3}, 1), weight = leaf({5, 3}, 2), norm = leaf({}, 3);
    Tensor turned = random_tensor({3, 5}, 4, -1, 1, DType::F32).with_layout({5, 3}, {1, 5}, 0);
    turned.set_requires_grad();
    const Tensor before[] = {bias.clone(), weight.clone(), norm.clone(), turned.clone()};
    const ParameterBuffer buffer({{"bias", bias}, {"weight", weight}, {"norm", norm}, {"turned", turned}});
    const Tensor* after[] = {&bias, &weight, &norm, &turned};
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(same_bits(before[i], *after[i])) << i;
        EXPECT_EQ(after[i]->storage(), buffer.values().storage());
        EXPECT_EQ(after[i]->grad().storage(), buffer.gradients().storage());
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(after[i]->view().data) % 64, 0u);
        EXPECT_TRUE(after[i]->is_contiguous());
    }
    // Matrices first, in the given order; 15 elements take 16.
    EXPECT_EQ(buffer.decayed_elements(), 32);
    EXPECT_EQ(buffer.elements(), 64);
    EXPECT_EQ(buffer.segments()[0].name, "weight");
    EXPECT_EQ(buffer.segments()[2].name, "bias");
    EXPECT_FALSE(buffer.segments()[2].decays);
}

TEST(ParameterBuffer, CollectsGradientsOfBackward) {
    for (const DType dtype : {DType::F32, DType::BF16, DType::F64}) {
        Tensor weight = leaf({4, 3}, 1, dtype), bias = leaf({3}, 2, dtype);
        const ParameterBuffer buffer({{"weight", weight}, {"bias", bias}});
        EXPECT_EQ(buffer.gradients().dtype(), dtype == DType::F64 ? DType::F64 : DType::F32);
        for (int round = 0; round < 2; ++round) {
            const Tensor product = ops::mul(weight, bias);
            backward({product}, {Tensor::full({4, 3}, 1, dtype)});
        }
        const Tensor twice = ops::scale(ops::expand(bias.detach(), {4, 3}), 2);
        EXPECT_LE(relative_error(buffer.segments()[0].of(buffer.gradients()), twice), 1e-7);
        buffer.zero_gradients();
        EXPECT_EQ(buffer.gradient_norm(), 0);
    }
}

TEST(ParameterBuffer, StoresTiedTensorsOnceAndLeavesFrozenOnesAlone) {
    Tensor embedding = leaf({7, 4}, 1), head = embedding, frozen = random_tensor({7, 4}, 2, -1, 1, DType::F32);
    const std::shared_ptr<Storage> home = frozen.storage();
    const ParameterBuffer buffer({{"embedding", embedding}, {"head", head}, {"frozen", frozen}});
    EXPECT_EQ(buffer.segments().size(), 1u);
    EXPECT_EQ(embedding.view().data, head.view().data);
    EXPECT_EQ(frozen.storage(), home);
    EXPECT_FALSE(frozen.requires_grad());
    backward({ops::mul(embedding, head)}, {Tensor::full({7, 4}, 1)});
    EXPECT_LE(relative_error(head.grad(), ops::scale(embedding.detach(), 2)), 1e-7);
}

TEST(ParameterBuffer, ClipsTheNormOverAllParameters) {
    Tensor weight = leaf({400, 133}, 1), bias = leaf({133}, 2);
    const ParameterBuffer buffer({{"weight", weight}, {"bias", bias}});
    weight.grad().copy_from(random_tensor({400, 133}, 3));
    bias.grad().copy_from(random_tensor({133}, 4));
    double squares = 0;
    for (const Tensor* tensor : {&weight, &bias})
        for (const double value : tensor->grad().to_vector<double>()) squares += value * value;
    const Tensor before = buffer.gradients().clone();
    EXPECT_NEAR(buffer.gradient_norm(), std::sqrt(squares), 1e-12 * std::sqrt(squares));
    EXPECT_NEAR(buffer.clip_gradients(1e9), std::sqrt(squares), 1e-12 * std::sqrt(squares));
    EXPECT_TRUE(same_bits(before, buffer.gradients()));
    EXPECT_NEAR(buffer.clip_gradients(0.5), std::sqrt(squares), 1e-12 * std::sqrt(squares));
    EXPECT_NEAR(buffer.gradient_norm(), 0.5, 1e-6);
    EXPECT_LE(relative_error(buffer.gradients(), ops::scale(before, 0.5 / std::sqrt(squares))), 1e-6);
}

TEST(ParameterBuffer, NormHasTheSameBitsAtAnyThreadCount) {
    Tensor weight = leaf({700, 133}, 1);
    const ParameterBuffer buffer({{"weight", weight}});
    weight.grad().copy_from(random_tensor({700, 133}, 3));
    const int threads = thread_count();
    set_thread_count(1);
    const double one = buffer.gradient_norm();
    set_thread_count(2);
    EXPECT_EQ(buffer.gradient_norm(), one);
    set_thread_count(threads);
}

TEST(ParameterBuffer, TellsOfGradientsThatAreNotFinite) {
    Tensor weight = leaf({4, 4}, 1);
    const ParameterBuffer buffer({{"weight", weight}});
    weight.grad().fill(1e30);  // its square is past f32
    EXPECT_NEAR(buffer.gradient_norm(), 4e30, 1e24);
    weight.grad().data<float>()[3] = std::numeric_limits<float>::infinity();
    EXPECT_TRUE(std::isinf(buffer.clip_gradients(1)));
    EXPECT_EQ(weight.grad().data<float>()[0], 1e30f);
    weight.grad().data<float>()[3] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(std::isnan(buffer.clip_gradients(1)));
}

TEST(ParameterBuffer, RefusesMixedDtypesAndNothing) {
    Tensor a = leaf({2}, 1), b = leaf({2}, 2, DType::BF16), c = Tensor::zeros({2});
    try {
        ParameterBuffer({{"a", a}, {"b", b}});
        FAIL() << "mixed dtypes were taken";
    } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "parameter buffer: b is bf16 on cpu, but a is f32 on cpu");
    }
    EXPECT_THROW(ParameterBuffer({{"c", c}}), Error);
    EXPECT_THROW(ParameterBuffer({}), Error);
    Tensor ok = leaf({2}, 3);
    EXPECT_THROW(ParameterBuffer({{"ok", ok}}).clip_gradients(0), Error);
}

}  // namespace
}  // namespace tessera::training
