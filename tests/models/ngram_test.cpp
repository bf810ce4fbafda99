#include "tessera/models/ngram/ngram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "support/expect_error.h"
#include "support/module_check.h"
#include "support/op_case.h"
#include "support/tiny_config.h"
#include "tessera/models/catalog.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using testing::config_of;
using testing::expect_error;
using testing::relative_error;
using testing::replaced;
using testing::same_bits;

const std::string trigram = R"({"model_type": "ngram", "vocabulary_size": 4, "order": 3})";
const std::string bigram = replaced(trigram, "3", "2");
Tensor text() { return Tensor::from<std::int64_t>({0, 1, 0, 2, 0, 1, 3, 0, 1, 1}, {1, 10}); }

TEST(Ngram, CountsArePerContextShares) {
    Ngram model(config_of(bigram));
    model.count({.input_ids = text()});
    model.estimate();
    const NoGrad no_grad;
    // After 0: 1, 2, 1, 1. After 3: 0 alone.
    const std::vector<double> row = ops::select(model.table(), 0, 0).to_vector<double>();
    EXPECT_NEAR(std::exp(row[1]), 3.0 / 4, 1e-7);
    EXPECT_NEAR(std::exp(row[2]), 1.0 / 4, 1e-7);
    EXPECT_EQ(std::exp(row[0]), 0);
    EXPECT_EQ(std::exp(ops::select(model.table(), 0, 3).to_vector<double>()[0]), 1);
    // Nothing was seen at the beginning of a text but its first token: no share is better than another.
    EXPECT_NEAR(std::exp(ops::select(model.table(), 0, 4).to_vector<double>()[2]), 0.25, 1e-7);
}

TEST(Ngram, SmoothingGivesEveryTokenAShare) {
    Ngram model(config_of(replaced(bigram, "\"order\"", "\"smoothing\": 0.5, \"order\"")));
    model.count({.input_ids = text()});
    model.estimate();
    const std::vector<double> row = ops::select(model.table(), 0, 0).to_vector<double>();
    EXPECT_NEAR(std::exp(row[1]), 3.5 / 6, 1e-7);
    EXPECT_NEAR(std::exp(row[0]), 0.5 / 6, 1e-7);
}

TEST(Ngram, CountingReachesTheMaximumOfTheLikelihood) {
    for (const std::string& order : {bigram, trigram}) {
        Ngram model(config_of(order));
        model.count({.input_ids = text()});
        model.estimate();
        nn::set_requires_grad(model, true);
        const Tensor loss = model.loss({.input_ids = text()});
        backward(loss);
        for (const double slope : model.table().grad().to_vector<double>()) EXPECT_NEAR(slope, 0, 1e-7);
        EXPECT_TRUE(std::isfinite(loss.item()));
    }
}

TEST(Ngram, WhatWasNeverSeenIsImpossible) {
    Ngram model(config_of(bigram));
    model.count({.input_ids = text()});
    model.estimate();
    EXPECT_TRUE(std::isinf(model.loss({.input_ids = Tensor::from<std::int64_t>({0, 0}, {1, 2})}).item()));
}

TEST(Ngram, EveryEntryLearns) {
    const auto model = build(config_of(trigram));
    testing::randomise(*model);
    testing::expect_gradients(*model, [&] { return model->loss({.input_ids = text()}); });
}

TEST(Ngram, DecodingIsForwardAndABatchIsItsRows) {
    const auto model = build(config_of(trigram));
    testing::randomise(*model);
    const NoGrad no_grad;
    const Batch together{.input_ids = Tensor::from<std::int64_t>({1, 2, 3, 0, 0, 2}, {2, 3}),
                         .attention_mask = Tensor::from<std::int64_t>({1, 1, 1, 0, 0, 1}, {2, 3})};
    const std::vector<Tensor> rows{Tensor::from<std::int64_t>({1, 2, 3}, {1, 3}),
                                   Tensor::from<std::int64_t>({2}, {1, 1})};
    const Tensor next = Tensor::from<std::int64_t>({0, 1, 3, 3}, {2, 2});
    const auto session = model->decode(8);
    const Tensor logits = model->forward(together), read = session->prefill(together), stepped = session->step(next);
    EXPECT_TRUE(same_bits(read, ops::select(logits, 1, 2)));
    for (std::int64_t row = 0; row < 2; ++row) {
        const auto alone = model->decode(8);
        EXPECT_TRUE(same_bits(ops::slice(read, 0, row, row + 1),
                              alone->prefill({.input_ids = rows[static_cast<std::size_t>(row)]})));
        EXPECT_TRUE(same_bits(ops::slice(stepped, 0, row, row + 1), alone->step(ops::slice(next, 0, row, row + 1))));
    }
}

TEST(Ngram, SavesAndLoads) {
    Ngram model(config_of(trigram));
    model.count({.input_ids = text()});
    model.estimate();
    const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "ngram";
    save(model, folder);
    const NoGrad no_grad;
    EXPECT_TRUE(same_bits(load(folder)->forward({.input_ids = text()}), model.forward({.input_ids = text()})));
    std::filesystem::remove_all(folder);
}

TEST(Ngram, WhatDoesNotFitIsAnErrorThatNamesIt) {
    const auto rejects = [](const std::string& json, const std::string& field) {
        expect_error([&] { build(config_of(json)); }, {"config.json", field});
    };
    rejects(replaced(trigram, "3", "0"), "order");
    rejects(replaced(trigram, "3", "40"), "order");
    rejects(replaced(trigram, "\"order\"", "\"smoothing\": -1, \"order\""), "smoothing");
    Ngram model(config_of(trigram));
    expect_error([&] { model.estimate(); }, {"config.json", "nothing was counted"});
    expect_error([&] { model.count({.input_ids = Tensor::from<std::int64_t>({4}, {1, 1})}); }, {"input_ids", "4"});
}

}  // namespace
}  // namespace tessera::models
