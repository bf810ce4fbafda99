#include "tessera/ops/losses.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/op_case.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

TEST(Losses, ShapesThatDoNotFitAreRefused) {
    EXPECT_THROW(ops::mse(Tensor::zeros({2, 3}), Tensor::zeros({3, 2})), Error);
    EXPECT_THROW(ops::mse(Tensor::zeros({0}), Tensor::zeros({0})), Error);
    const Tensor features = Tensor::zeros({2, 3}), one = Tensor::scalar(0);
    EXPECT_THROW(ops::sigmoid_contrastive(features, Tensor::zeros({2, 4}), one, one), Error);
    EXPECT_THROW(ops::sigmoid_contrastive(features, features, Tensor::zeros({2}), one), Error);
    EXPECT_THROW(ops::sigmoid_contrastive(features, features, one, Tensor::zeros({2})), Error);
}

TEST(Losses, SigmoidLossSurvivesHugeLogits) {
    Tensor image = Tensor::from({1.0f, 0.0f, 0.0f, 1.0f}, {2, 2});
    image.set_requires_grad();
    const Tensor text = Tensor::from({-1.0f, 0.0f, 0.0f, 1.0f}, {2, 2});
    const Tensor loss = ops::sigmoid_contrastive(image, text, Tensor::scalar(std::log(1e4)), Tensor::scalar(0));
    EXPECT_NEAR(loss.item(), (1e4 + 2 * std::log(2.0)) / 2, 1e-2);
    backward(loss);
    for (const double value : image.grad().to_vector<double>()) EXPECT_TRUE(std::isfinite(value));
}

TEST(Losses, ScalesMayStayInFloatBesideHalves) {
    Tensor log_scale = Tensor::full({1}, 1);
    log_scale.set_requires_grad();
    const Tensor image = random_tensor({5, 8}, 1).to(DType::BF16), text = random_tensor({5, 8}, 2).to(DType::BF16);
    const Tensor loss = ops::sigmoid_contrastive(image, text, log_scale, Tensor::scalar(0));
    EXPECT_EQ(loss.dtype(), DType::F32);
    backward(loss);
    EXPECT_EQ(log_scale.grad().dtype(), DType::F32);
    EXPECT_EQ(log_scale.grad().shape(), Shape({1}));
}

}  // namespace
}  // namespace tessera::testing
