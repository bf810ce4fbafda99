// The trainer's steps: against the reference's curve, and what a recipe promises of them.
#include "tessera/training/run/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <condition_variable>
#include <mutex>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/op_case.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/catalog.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/views.h"
#include "tessera/training/recipe/recipe_keys.h"

namespace tessera::training {
namespace {

using testing::expect_error;
using testing::relative_error;
using testing::same_bits;

Recipe recipe_of(std::vector<std::string> settings) {
    return read_recipe(
        resolve_recipe(formats::Json::parse(R"({"model": "m", "data": {"train": "a"}, "data.shuffle": false})", "test"),
                       settings, "test"));
}

// Rows of ids, one example each.
class Rows : public Objective {
   public:
    explicit Rows(Tensor ids) : ids_(std::move(ids)) {}
    std::int64_t examples() const override { return ids_.size(0); }
    TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey) const override {
        std::vector<std::int64_t> ids, labels;
        for (const std::int64_t example : examples) {
            const auto row = ops::select(ids_, 0, example).contiguous().to_vector<std::int64_t>();
            ids.insert(ids.end(), row.begin(), row.end());
            labels.push_back(-100);
            // Later rows have fewer labels: batches are not of one weight.
            for (std::size_t i = 1; i < row.size(); ++i)
                labels.push_back(uneven && example % 4 == 3 && i > 3 ? -100 : row[i]);
        }
        const Shape shape{static_cast<std::int64_t>(examples.size()), ids_.size(1)};
        TrainingBatch result{.units = shape.elements(), .origin = text_of("rows from ", examples[0])};
        result.inputs.input_ids = Tensor::from(ids, shape);
        result.inputs.labels = Tensor::from(labels, shape);
        return result;
    }
    Tensor loss(const models::Model& model, const TrainingBatch& batch, const models::LossOptions& options,
                const nn::Context& context) const override {
        const Tensor loss = model.loss(batch.inputs, options, context);
        return spoil_at != 0 && ++calls == spoil_at ? ops::mul(loss, Tensor::scalar(spoiled)) : loss;
    }
    bool uneven = false;
    int spoil_at = 0;
    mutable int calls = 0;
    double spoiled = 1;

   private:
    Tensor ids_;
};

std::unique_ptr<models::Model> small() { return models::load(testing::golden_path("training-curve-llama")); }

Tensor curve_data() {
    const Tensor data = testing::Golden("training-curve-llama/expected.safetensors")["data"];
    return ops::reshape(data, {data.size(0) * data.size(1), data.size(2)});
}

std::vector<double> losses_of(models::Model& model, const Rows& rows, const Recipe& recipe) {
    Trainer trainer(model, rows, recipe);
    std::vector<double> losses;
    while (!trainer.finished()) losses.push_back(trainer.step().loss);
    return losses;
}

Tensor weights_of(models::Model& model) {  // all in one
    std::vector<double> all;
    for (const auto& [name, tensor] : nn::parameters(model))
        for (const double value : tensor->detach().to(DType::F64).contiguous().to_vector<double>())
            all.push_back(value);
    const auto count = static_cast<std::int64_t>(all.size());
    return Tensor::from(all, {count});
}

TEST(Trainer, TwentyStepsMatchTheReference) {
    const testing::Golden expected("training-curve-llama/expected.safetensors");
    const std::int64_t rows_per_step = expected["data"].size(1);
    const Recipe recipe = recipe_of({text_of("batch=", rows_per_step), "steps=20", "data.shuffle=false",
                                     "optimizer.learning_rate=0.003", "schedule.warmup=5"});
    const auto model = small();
    const Rows rows(curve_data());
    const std::vector<double> losses = losses_of(*model, rows, recipe), wanted = expected["losses"].to_vector<double>();
    ASSERT_EQ(losses.size(), wanted.size());
    for (std::size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], wanted[i], 2e-5 * wanted[i]) << "step " << i;
    for (const auto& [name, value] :
         models::checkpoint_tensors(*model, model->weights, [](const Tensor& parameter) { return parameter.detach(); }))
        EXPECT_LE(relative_error(value, expected["final." + name]), 1e-4) << name;
}

// Notes what was asked of it, and can fail.
class Watched : public Rows {
   public:
    using Rows::Rows;
    TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey key) const override {
        check(examples[0] != fails_at, "row ", fails_at, " cannot be read");
        TrainingBatch result = Rows::batch(examples, key);
        const std::lock_guard lock(mutex_);
        asked_.insert(asked_.end(), examples.begin(), examples.end());
        changed_.notify_all();
        return result;
    }
    // Waits until this example has been asked for.
    Tensor loss(const models::Model& model, const TrainingBatch& batch, const models::LossOptions& options,
                const nn::Context& context) const override {
        std::unique_lock lock(mutex_);
        const auto is_there = [&] { return std::count(asked_.begin(), asked_.end(), wants) > 0; };
        EXPECT_TRUE(wants < 0 || changed_.wait_for(lock, std::chrono::seconds(20), is_there));
        return Rows::loss(model, batch, options, context);
    }
    std::vector<std::int64_t> asked() const {
        const std::lock_guard lock(mutex_);
        return asked_;
    }
    std::int64_t fails_at = -1, wants = -1;

   private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    mutable std::vector<std::int64_t> asked_;
};

TEST(Trainer, TheNextBatchIsMadeWhileThisOneIsLearned) {
    const auto model = small();
    Watched rows(curve_data());
    rows.wants = 2;
    const Recipe recipe = recipe_of({"batch=2", "steps=2"});
    Trainer trainer(*model, rows, recipe);
    trainer.step();
    EXPECT_EQ(rows.asked(), (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST(Trainer, ABatchThatCannotBeMadeStopsItsOwnStep) {
    const auto model = small();
    Watched rows(curve_data());
    rows.fails_at = 4;
    const Recipe recipe = recipe_of({"batch=2", "steps=9"});
    Trainer trainer(*model, rows, recipe);
    trainer.step();
    trainer.step();  // the third is in the making
    expect_error([&] { trainer.step(); }, {"row 4 cannot be read"});
    EXPECT_EQ(trainer.steps(), 2);
}

TEST(Trainer, ShardsShareTheExamples) {
    const auto asked = [](const char* shard, const char* shuffle) {
        const auto model = small();
        const Watched rows(curve_data());
        const Recipe recipe = recipe_of({"batch=2", "steps=4", shard, shuffle});
        Trainer trainer(*model, rows, recipe);
        while (!trainer.finished()) trainer.step();
        return rows.asked();
    };
    EXPECT_EQ(asked("data.shard=1/3", "data.shuffle=false"), (std::vector<std::int64_t>{1, 4, 7, 10, 13, 16, 19, 22}));
    std::vector<std::int64_t> both = asked("data.shard=0/2", "data.shuffle=true"),
                              second = asked("data.shard=1/2", "data.shuffle=true");
    both.insert(both.end(), second.begin(), second.end());
    std::sort(both.begin(), both.end());
    EXPECT_EQ(std::unique(both.begin(), both.end()), both.end());  // no example twice within an epoch
    for (const char* wrong : {"data.shard=2/2", "data.shard=-1/2", "data.shard=1", "data.shard=0/", "data.shard=0/1x"})
        expect_error([&] { recipe_of({wrong}); }, {"shard"});
}

TEST(Trainer, AccumulatedBatchesAreOneLargeBatch) {
    const auto run = [](const char* batch, const char* accumulate) {
        const auto model = small();
        Rows rows(curve_data());
        rows.uneven = true;
        const auto losses =
            losses_of(*model, rows,
                      recipe_of({batch, accumulate, "steps=4", "data.shuffle=false", "optimizer.learning_rate=0.003"}));
        return std::pair(Tensor::from(losses, {4}), weights_of(*model));
    };
    const auto large = run("batch=8", "accumulate=1"), parts = run("batch=2", "accumulate=4");
    EXPECT_LE(relative_error(parts.first, large.first), 1e-6);
    EXPECT_LE(relative_error(parts.second, large.second), 1e-5);
}

TEST(Trainer, RecomputeGivesTheSameLosses) {
    const auto run = [](const char* recompute) {
        const auto model = small();
        const Rows rows(curve_data());
        return losses_of(*model, rows, recipe_of({recompute, "batch=2", "steps=6", "optimizer.learning_rate=0.003"}));
    };
    EXPECT_EQ(run("recompute=true"), run("recompute=false"));
}

TEST(Trainer, FrozenParametersStayAndRatesDifferByName) {
    const auto model = small(), before = small();
    const Rows rows(curve_data());
    losses_of(*model, rows,
              recipe_of({"batch=2", "steps=1", "optimizer.name=sgd", "optimizer.weight_decay=0", "clip=0",
                         "schedule.name=constant", "optimizer.learning_rate=0.1",
                         "freeze=[\"embed_tokens\",\"model.layers.0\"]", "rates={\"layers.1.self_attn\":0}"}));
    const auto now = nn::parameters(*model), then = nn::parameters(*before);
    int frozen = 0, still = 0, changed = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
        const std::string& name = now[i].name;  // our own
        const bool same = same_bits(now[i].tensor->detach(), *then[i].tensor);
        const bool is_frozen = name.find("tokens") != name.npos || name.find("layers.0") != name.npos;
        const bool is_still = name.find("layers.1.attention.") != name.npos;
        EXPECT_EQ(same, is_frozen || is_still) << name;
        (is_frozen ? frozen : is_still ? still : changed) += 1;
    }
    EXPECT_TRUE(frozen > 0 && still > 0 && changed > 0);
    for (const char* unknown : {"nowhere", "tokens", "attention", "layers.0.attention.query", "q_pro", "layers.1x", ""})
        for (const auto& setting : {text_of("freeze=[\"", unknown, "\"]"), text_of("rates={\"", unknown, "\":2}")})
            expect_error([&] { Trainer(*model, rows, recipe_of({setting})); },
                         {setting.substr(0, setting.find('=')), text_of("\"", unknown, "\"; there are: "),
                          "model.embed_tokens.weight", "model.layers.*.self_attn.q_proj.weight"});
    expect_error([&] { Trainer(*model, rows, recipe_of({"freeze=*"})); }, {"no parameter is left"});
}

TEST(Trainer, ARateIsAFactorOfTheLearningRate) {
    const auto move = [](std::vector<std::string> settings) {
        const auto model = small(), before = small();
        const Rows rows(curve_data());
        settings.insert(settings.end(), {"batch=2", "steps=1", "optimizer.name=sgd", "optimizer.weight_decay=0",
                                         "clip=0", "schedule.name=constant"});
        losses_of(*model, rows, recipe_of(settings));
        return ops::sub(weights_of(*model), weights_of(*before));
    };
    const Tensor twice = move({"optimizer.learning_rate=0.01", "rates={\"*\":2}"}),
                 plain = move({"optimizer.learning_rate=0.02"});
    EXPECT_LE(relative_error(twice, plain), 1e-5);
}

TEST(Trainer, KeepsTheMovingAverageOfItsWeights) {
    const Recipe recipe =
        recipe_of({"ema=0.75", "batch=2", "steps=5", "optimizer.learning_rate=0.003", "data.shuffle=false"});
    const auto model = small();
    const Rows rows(curve_data());
    Trainer trainer(*model, rows, recipe);
    std::vector<double> average = weights_of(*model).to_vector<double>();
    while (!trainer.finished()) {
        trainer.step();
        const std::vector<double> now = weights_of(*model).to_vector<double>();
        for (std::size_t i = 0; i < now.size(); ++i) average[i] = 0.75 * average[i] + 0.25 * now[i];
    }
    const Tensor current = weights_of(*model);
    Tensor kept;
    trainer.with_average([&] { kept = weights_of(*model); });
    EXPECT_LE(relative_error(kept, Tensor::from(average, kept.shape())), 1e-5);
    EXPECT_TRUE(same_bits(weights_of(*model), current));
}

TEST(Trainer, StopsAtALossThatIsNoNumberNamingStepAndBatch) {
    const auto model = small();
    Rows rows(curve_data());
    rows.spoil_at = 3;
    rows.spoiled = std::nan("");
    expect_error(
        [&] {
            losses_of(*model, rows, recipe_of({"batch=2", "steps=5", "data.shuffle=false"}));
        },
        {"step 3", "nan", "rows from 4"});
}

TEST(Trainer, StopsAtALeapUnlessTold) {
    const auto run = [](std::vector<std::string> settings) {
        const auto model = small();
        Rows rows(curve_data());
        rows.spoil_at = 25;
        rows.spoiled = 10;
        settings.insert(settings.end(), {"batch=1", "steps=26", "data.shuffle=false"});
        losses_of(*model, rows, recipe_of(settings));
    };
    expect_error([&] { run({}); }, {"step 25", "leapt", "rows from 24", "spike=0"});
    EXPECT_NO_THROW(run({"spike=0"}));
    EXPECT_NO_THROW(run({"spike=20"}));
}

// QLoRA: the base is quantised and stays so, and only the adapters learn.
TEST(Trainer, AdaptersLearnBesideQuantisedWeights) {
    const char* const config =
        R"({"model_type": "llama", "vocab_size": 96, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 96, "max_position_embeddings": 64, "bos_token_id": 1,
        "eos_token_id": 2})";
    const auto run = [&](bool quantised) {
        const auto model = models::initialised({formats::Json::parse(config, "config.json"), "config.json"}, 3);
        for (const auto& [name, tensor] : nn::parameters(*model))
            if (tensor->rank() == 2) {
                *tensor = tensor->to(DType::Q8_0);
                if (!quantised) *tensor = tensor->to(DType::F32);
            }
        models::attach_adapters(*model, {.rank = 4, .alpha = 8}, {.seed = 1});
        const Rows rows(curve_data());
        const auto losses = losses_of(*model, rows, recipe_of({"batch=4", "steps=12", "optimizer.learning_rate=0.01"}));
        for (const auto& [name, tensor] : nn::parameters(*model))
            if (tensor->rank() == 2 && name.find("lora_") == name.npos) {
                EXPECT_EQ(tensor->dtype(), quantised ? DType::Q8_0 : DType::F32) << name;
            }
        return losses;
    };
    const std::vector<double> quantised = run(true), plain = run(false);
    for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(quantised[i], plain[i], 2e-3) << "step " << i;
    EXPECT_LT(quantised.back(), quantised.front() - 0.005);
}

}  // namespace
}  // namespace tessera::training
