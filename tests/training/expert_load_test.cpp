// Experts in training: what a recipe's balance does to them, and how their load is told.
#include "tessera/training/run/expert_load.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/tiny_config.h"
#include "tessera/models/catalog.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/run/trainer.h"

namespace tessera::training {
namespace {

using testing::config_of;
using testing::expect_error;

TEST(BusiestExpert, CountsInEqualShares) {
    const auto layer = [](std::vector<std::int64_t> indices, std::int64_t k) {
        const auto tokens = static_cast<std::int64_t>(indices.size()) / k;
        return nn::RouterChoice{Tensor::zeros({tokens, 4}), Tensor::from(indices, {tokens, k})};
    };
    EXPECT_EQ(busiest_expert({}), 0);
    EXPECT_EQ(busiest_expert({layer({0, 1, 2, 3, 3, 2, 1, 0}, 2)}), 1);
    EXPECT_EQ(busiest_expert({layer({0, 1, 0, 1, 1, 0}, 2)}), 2);
    EXPECT_EQ(busiest_expert({layer({3, 3, 3}, 1)}), 4);
    EXPECT_EQ(busiest_expert({layer({3, 3, 3}, 1), layer({0, 1, 0, 1}, 2)}), 3);
}

// Texts in which each letter is followed by the next but one.
class LettersInTurn : public Objective {
   public:
    std::int64_t examples() const override { return 64; }
    TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey) const override {
        std::vector<std::int64_t> ids;
        for (const std::int64_t example : examples)
            for (std::int64_t i = 0; i < length; ++i) ids.push_back((example * 7 + 2 * i) % 23);
        const Shape shape{static_cast<std::int64_t>(examples.size()), length};
        TrainingBatch result{.units = shape.elements()};
        result.inputs.input_ids = Tensor::from(ids, shape);
        result.inputs.labels = Tensor::from(ids, shape);
        return result;
    }

   private:
    static constexpr std::int64_t length = 16;
};

const char* const mixture = R"({"model_type": "mixtral", "vocab_size": 23, "hidden_size": 16, "num_hidden_layers": 2,
    "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 16, "num_local_experts": 8,
    "num_experts_per_tok": 2, "initializer_range": 0.3})";

struct LoadOutcome {
    std::vector<double> losses = {};
    double first_load = 0, last_load = 0, validation = 0;
};

constexpr int last_steps = 10;  // over which a load is the mean

LoadOutcome learn_with_load(const std::string& config, std::vector<std::string> settings) {
    settings.insert(settings.end(), {"batch=8", "steps=40", "optimizer.learning_rate=0.01"});
    const Recipe recipe = read_recipe(resolve_recipe(
        formats::Json::parse(R"({"model": "m", "data": {"train": "a"}})", "r.json"), settings, "r.json"));
    const auto model = models::initialised(config_of(config), 1);
    const LettersInTurn letters;
    Trainer trainer(*model, letters, recipe);
    LoadOutcome run;
    run.validation = trainer.evaluate(letters).loss;
    while (!trainer.finished()) {
        const StepReport report = trainer.step();
        if (run.losses.empty()) run.first_load = report.busiest_expert;
        run.losses.push_back(report.loss);
        if (trainer.steps() > recipe.steps - last_steps) run.last_load += report.busiest_expert / last_steps;
    }
    return run;
}

TEST(ExpertLoad, BalanceKeepsExpertsBusyWhileTheModelLearns) {
    // One layer: several are balanced as if they were one, and may be unequal in opposite ways.
    const std::string one = testing::replaced(mixture, "layers\": 2", "layers\": 1");
    const LoadOutcome without = learn_with_load(one, {}), with = learn_with_load(one, {"balance=0.1"});
    EXPECT_DOUBLE_EQ(with.first_load, without.first_load);
    EXPECT_NEAR(with.losses[0] - without.losses[0], 0.1 * 2, 0.1);  // 2 experts a token: 2 where all are equally busy
    EXPECT_LT(with.last_load - 1, 0.75 * (without.last_load - 1));
    EXPECT_LT(with.losses.back() - 0.2, 0.2 * with.losses[0]);
}

TEST(ExpertLoad, AnEvaluationTellsHowWellTheModelForetells) {
    const std::string asking = testing::replaced(
        mixture, "\"num_local", "\"output_router_logits\": true, \"router_aux_loss_coef\": 0.1, \"num_local");
    const LoadOutcome by_recipe = learn_with_load(mixture, {"balance=0.1"}), by_config = learn_with_load(asking, {}),
                      silent = learn_with_load(mixture, {});
    EXPECT_EQ(by_config.losses, by_recipe.losses);
    EXPECT_EQ(by_config.validation, silent.validation);
    EXPECT_EQ(learn_with_load(asking, {"balance=0"}).losses, silent.losses);
}

TEST(ExpertLoad, BlocksThatRunAgainGiveTheSameLosses) {
    const LoadOutcome kept = learn_with_load(mixture, {"balance=0.1"}),
                      again = learn_with_load(mixture, {"balance=0.1", "recompute=true"});
    for (std::size_t i = 0; i < kept.losses.size(); ++i) EXPECT_NEAR(again.losses[i], kept.losses[i], 1e-5) << i;
    EXPECT_EQ(again.last_load, kept.last_load);
}

TEST(ExpertLoad, BalanceWithoutExpertsIsAnError) {
    const char* const dense = R"({"model_type": "llama", "vocab_size": 23, "hidden_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 16})";
    expect_error([&] { learn_with_load(dense, {"balance=0.1"}); }, {"r.json", "balance", "0.1", "no experts"});
    EXPECT_EQ(learn_with_load(dense, {"balance=0", "steps=2"}).last_load, 0);
}

}  // namespace
}  // namespace tessera::training
