#include "tessera/ops/experts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/op_case.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {

using Ints = std::vector<std::int64_t>;

TEST(Experts, PlanSortsByExpertAndKeepsTokensInOrder) {
    const ops::ExpertPlan plan = ops::plan_experts(Tensor::from(Ints{2, 0, 0, 2, 2, 3}, {3, 2}), 5);
    EXPECT_EQ(plan.counts.to_vector<std::int64_t>(), (Ints{2, 0, 3, 1, 0}));
    EXPECT_EQ(plan.tokens.to_vector<std::int64_t>(), (Ints{0, 1, 0, 1, 2, 2}));
    EXPECT_EQ(plan.positions.to_vector<std::int64_t>(), (Ints{2, 0, 1, 3, 4, 5}));
}

TEST(Experts, TiesGoToTheLowerIndex) {
    const ops::Routing routing = ops::route(Tensor::zeros({2, 5}), {.k = 3});
    EXPECT_EQ(routing.indices.to_vector<std::int64_t>(), (Ints{0, 1, 2, 0, 1, 2}));
}

TEST(Experts, LogitsFarApartStillChooseByLogit) {
    const Tensor logits = Tensor::from({0.0f, 500.0f, 1.0f, 2.0f}, {1, 4});
    EXPECT_EQ(ops::route(logits, {.k = 3}).indices.to_vector<std::int64_t>(), (Ints{1, 3, 2}));
}

TEST(Experts, NormalisedWeightsAreASoftmaxOverTheChosenLogits) {
    const Tensor logits = Tensor::from({1.0, 3.0, 2.0, -1.0}, {1, 4});
    const auto weights = ops::route(logits, {.k = 2, .normalise = true}).weights.to_vector<double>();
    EXPECT_NEAR(weights[0], 1 / (1 + std::exp(-1.0)), 1e-12);
    EXPECT_NEAR(weights[1], 1 / (1 + std::exp(1.0)), 1e-12);
}

TEST(Experts, NotANumberGivesValidIndicesAndShowsInTheWeights) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const ops::Routing routing =
        ops::route(Tensor::from({nan, nan, nan, nan}, {1, 4}), {.k = 2, .groups = 2, .top_groups = 1});
    for (const std::int64_t index : routing.indices.to_vector<std::int64_t>()) EXPECT_TRUE(0 <= index && index < 4);
    for (const double weight : routing.weights.to_vector<double>()) EXPECT_TRUE(std::isnan(weight));
}

TEST(Experts, EqualLoadGivesALossOfK) {
    const Tensor indices = Tensor::from(Ints{0, 1, 2, 3, 1, 2, 3, 0}, {4, 2});
    EXPECT_NEAR(ops::load_balancing_loss(Tensor::zeros({4, 4}), indices).item(), 2, 1e-6);
}

TEST(Experts, NoTokensGiveNoRows) {
    const ops::Routing routing = ops::route(Tensor::zeros({0, 4}), {.k = 2});
    const ops::ExpertPlan plan = ops::plan_experts(routing.indices, 4);
    const Tensor rows = ops::grouped_linear(ops::dispatch(Tensor::zeros({0, 3}), plan), Tensor::zeros({4, 5, 3}), plan);
    EXPECT_EQ(ops::combine(rows, routing.weights, plan).shape(), Shape({0, 5}));
}

TEST(Experts, WhatDoesNotFitIsRefused) {
    const Tensor logits = Tensor::zeros({3, 8});
    EXPECT_THROW(ops::route(logits, {.k = 9}), Error);
    EXPECT_THROW(ops::route(logits, {.k = 0}), Error);
    EXPECT_THROW(ops::route(logits, {.k = 2, .groups = 3}), Error);
    EXPECT_THROW(ops::route(logits, {.k = 3, .groups = 4, .top_groups = 1}), Error);
    EXPECT_THROW(ops::plan_experts(Tensor::from(Ints{0, 8}, {1, 2}), 8), Error);
    const ops::ExpertPlan plan = ops::plan_experts(ops::route(logits, {.k = 2}).indices, 8);
    EXPECT_THROW(ops::dispatch(Tensor::zeros({4, 5}), plan), Error);
    EXPECT_THROW(ops::grouped_linear(Tensor::zeros({6, 5}), Tensor::zeros({7, 4, 5}), plan), Error);
    EXPECT_THROW(ops::combine(Tensor::zeros({6, 5}), Tensor::zeros({3, 3}), plan), Error);
}

}  // namespace
}  // namespace tessera::testing
