#include "tessera/ops/routing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tessera::testing {
namespace {

TEST(Routing, TiesGoToTheLowerIndex) {
    const ops::Routing routing = ops::route(Tensor::zeros({2, 5}), {.k = 3});
    EXPECT_EQ(routing.indices.to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2, 0, 1, 2}));
}

TEST(Routing, LogitsFarApartStillChooseByLogit) {
    const Tensor logits = Tensor::from({0.0f, 500.0f, 1.0f, 2.0f}, {1, 4});
    EXPECT_EQ(ops::route(logits, {.k = 3}).indices.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 3, 2}));
}

TEST(Routing, NormalisedWeightsAreASoftmaxOverTheChosenLogits) {
    const Tensor logits = Tensor::from({1.0, 3.0, 2.0, -1.0}, {1, 4});
    const auto weights = ops::route(logits, {.k = 2, .normalise = true}).weights.to_vector<double>();
    EXPECT_NEAR(weights[0], 1 / (1 + std::exp(-1.0)), 1e-12);
    EXPECT_NEAR(weights[1], 1 / (1 + std::exp(1.0)), 1e-12);
}

TEST(Routing, NotANumberGivesValidIndicesAndShowsInTheWeights) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const ops::Routing routing =
        ops::route(Tensor::from({nan, nan, nan, nan}, {1, 4}), {.k = 2, .groups = 2, .top_groups = 1});
    for (const std::int64_t index : routing.indices.to_vector<std::int64_t>()) EXPECT_TRUE(0 <= index && index < 4);
    for (const double weight : routing.weights.to_vector<double>()) EXPECT_TRUE(std::isnan(weight));
}

TEST(Routing, EqualLoadGivesALossOfK) {
    const Tensor indices = Tensor::from(std::vector<std::int64_t>{0, 1, 2, 3, 1, 2, 3, 0}, {4, 2});
    EXPECT_NEAR(ops::load_balancing_loss(Tensor::zeros({4, 4}), indices).item(), 2, 1e-6);
}

TEST(Routing, WhatDoesNotFitIsRefused) {
    const Tensor logits = Tensor::zeros({3, 8});
    EXPECT_THROW(ops::route(logits, {.k = 9}), Error);
    EXPECT_THROW(ops::route(logits, {.k = 0}), Error);
    EXPECT_THROW(ops::route(logits, {.k = 2, .groups = 3}), Error);
    EXPECT_THROW(ops::route(logits, {.k = 3, .groups = 4, .top_groups = 1}), Error);
}

}  // namespace
}  // namespace tessera::testing
