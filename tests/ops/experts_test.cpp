#include "tessera/ops/experts.h"

#include <gtest/gtest.h>

#include "support/op_case.h"
#include "tessera/ops/routing.h"

namespace tessera::testing {
namespace {

using Ints = std::vector<std::int64_t>;

TEST(Experts, PlanSortsByExpertAndKeepsTokensInOrder) {
    const ops::ExpertPlan plan = ops::plan_experts(Tensor::from(Ints{2, 0, 0, 2, 2, 3}, {3, 2}), 5);
    EXPECT_EQ(plan.counts.to_vector<std::int64_t>(), (Ints{2, 0, 3, 1, 0}));
    EXPECT_EQ(plan.tokens.to_vector<std::int64_t>(), (Ints{0, 1, 0, 1, 2, 2}));
    EXPECT_EQ(plan.positions.to_vector<std::int64_t>(), (Ints{2, 0, 1, 3, 4, 5}));
}

TEST(Experts, NoTokensGiveNoRows) {
    const ops::Routing routing = ops::route(Tensor::zeros({0, 4}), {.k = 2});
    const ops::ExpertPlan plan = ops::plan_experts(routing.indices, 4);
    const Tensor rows = ops::grouped_linear(ops::dispatch(Tensor::zeros({0, 3}), plan), Tensor::zeros({4, 5, 3}), plan);
    EXPECT_EQ(ops::combine(rows, routing.weights, plan).shape(), Shape({0, 5}));
}

TEST(Experts, WhatDoesNotFitIsRefused) {
    const Tensor logits = Tensor::zeros({3, 8});
    EXPECT_THROW(ops::plan_experts(Tensor::from(Ints{0, 8}, {1, 2}), 8), Error);
    const ops::ExpertPlan plan = ops::plan_experts(ops::route(logits, {.k = 2}).indices, 8);
    EXPECT_THROW(ops::dispatch(Tensor::zeros({4, 5}), plan), Error);
    EXPECT_THROW(ops::grouped_linear(Tensor::zeros({6, 5}), Tensor::zeros({7, 4, 5}), plan), Error);
    EXPECT_THROW(ops::combine(Tensor::zeros({6, 5}), Tensor::zeros({3, 3}), plan), Error);
}

}  // namespace
}  // namespace tessera::testing
