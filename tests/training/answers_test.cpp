// Right answers are counted right, and layers that learn one after another stay as they are when their turn is over.
#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "support/expect_error.h"
#include "support/objective_case.h"
#include "tessera/formats/image/image.h"
#include "tessera/training/objectives/held_out.h"
#include "tessera/training/objectives/objective_parts.h"
#include "tessera/training/objectives/registration.h"
#include "tessera/training/run/trainer.h"

namespace tessera::training {
namespace {

using testing::ObjectiveCase;
using testing::TemporaryFolder;

TEST(HighestScores, EachRowIsAQuestion) {
    const Tensor scores = Tensor::from(std::vector<float>{1, 3, 2, 9, 0, 0, -5, -4, -3, 0, 0, 0}, {4, 3});
    const auto count = [&](const std::vector<std::int64_t>& labels) {
        const Accuracy answers = highest_logits(scores, Tensor::from(labels, {4}));
        return std::pair(answers.correct, answers.total);
    };
    EXPECT_EQ(count({1, 0, 2, 0}), std::pair(std::int64_t{4}, std::int64_t{4}));
    EXPECT_EQ(count({1, 1, 2, 2}), std::pair(std::int64_t{2}, std::int64_t{4}));
    EXPECT_EQ(count({-100, 1, 2, -100}), std::pair(std::int64_t{1}, std::int64_t{2}));
    testing::expect_error([&] { highest_logits(scores, Tensor::from(std::vector<std::int64_t>{1}, {1})); },
                          {"labels", "(4, 3)"});
}

TEST(HighestScores, ATextIsRightWhereAllOfItIs) {
    // Three texts of two tokens; the last token of the third is padding.
    const Tensor scores = Tensor::from(std::vector<float>{0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1}, {3, 2, 2});
    const Accuracy answers =
        highest_logits(scores, Tensor::from(std::vector<std::int64_t>{1, 0, 1, 0, 0, -100}, {3, 2}));
    EXPECT_EQ(answers.total, 3);
    EXPECT_EQ(answers.correct, 2);
}

// Seven images of one class, in batches of three: whatever the model says, it says of all of them.
TEST(Evaluate, CountsEveryExampleOnce) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder / "set/dark");
    for (int i = 0; i < 7; ++i) formats::write_png(folder / text_of("set/dark/", i, ".png"), formats::Image(4, 4));
    const ObjectiveCase test(folder,
                             R"({"model": {"model_type": "mlp_classifier", "input_width": 16, "hidden_widths": [5],
        "classes": 2}, "objective": "classify", "batch": 3})",
                             "set");
    for (const auto& [name, tensor] : nn::parameters(test.model()))
        if (name == "classifier.bias") tensor->copy_from(Tensor::from(std::vector<float>{1, -1}, {2}));
    const auto objective = test.make();
    const Evaluation all = evaluate(test.model(), *objective, test.recipe(), {.most_examples = 100});
    EXPECT_EQ(all.answers.total, 7);
    EXPECT_EQ(all.answers.correct, 7);
    EXPECT_EQ(all.answers.share(), 1);
    EXPECT_EQ(evaluate(test.model(), *objective, test.recipe(), {.most_examples = 4}).answers.total, 4);
    for (const auto& [name, tensor] : nn::parameters(test.model()))
        if (name == "classifier.bias") tensor->copy_from(Tensor::from(std::vector<float>{-1, 1}, {2}));
    EXPECT_EQ(evaluate(test.model(), *objective, test.recipe(), {.most_examples = 100}).answers.correct, 0);
}

using Values = std::vector<float>;

// By name, whatever the order.
std::map<std::string, Values> values_of(models::Model& model) {
    std::map<std::string, Values> values;
    for (const auto& [name, tensor] : nn::parameters(model)) values[name] = tensor->to_vector<float>();
    return values;
}

TEST(Phases, LayersLearnOneAfterAnother) {
    const TemporaryFolder folder;
    std::filesystem::create_directories(folder / "set/one");
    for (int i = 0; i < 4; ++i) {
        formats::Image image(4, 4);
        for (std::size_t k = 0; k < image.pixels.size(); ++k)
            image.pixels[k] = static_cast<std::uint8_t>(k * 7 + static_cast<std::size_t>(i) * 31);
        formats::write_png(folder / text_of("set/one/", i, ".png"), image);
    }
    const ObjectiveCase test(folder,
                             R"({"model": {"model_type": "autoencoder", "input_width": 16, "encoder_widths": [6, 3],
        "initializer_range": 0.3}, "objective": "autoencode", "layer_wise": true, "steps": 5, "batch": 2,
        "optimizer": {"learning_rate": 0.01}, "schedule": {"floor": 0, "warmup": 1}})",
                             "set");
    const auto objective = test.make();
    Trainer trainer(test.model(), *objective, test.recipe());
    std::vector<double> rates;
    for (int step = 0; step < 5; ++step) {
        const auto before = values_of(test.model());
        rates.push_back(trainer.step().learning_rate);
        const auto after = values_of(test.model());
        const bool first = step < 3;  // the odd step is the first layer's
        for (const char* name : {"encoder.0.weight", "decoder.1.weight", "decoder.1.bias"})
            EXPECT_EQ(before.at(name) != after.at(name), first) << name << " in step " << step;
        for (const char* name : {"encoder.1.weight", "decoder.0.weight", "decoder.0.bias"})
            EXPECT_EQ(before.at(name) != after.at(name), !first) << name << " in step " << step;
    }
    EXPECT_EQ(rates[0], 0.01);
    EXPECT_LT(rates[2], rates[1]);
    EXPECT_EQ(rates[3], 0.01);  // the schedule begins anew
}

// Notes the last example that was asked for.
class WatchedObjective : public Objective {
   public:
    explicit WatchedObjective(const Objective& real) : real_(real) {}
    std::int64_t examples() const override { return real_.examples(); }
    TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey key) const override {
        for (const std::int64_t example : examples) highest = std::max(highest.load(), example);
        return real_.batch(examples, key);
    }
    mutable std::atomic<std::int64_t> highest = -1;

   private:
    const Objective& real_;
};

TEST(Limit, OnlyTheFirstExamplesAreLearnedFrom) {
    const TemporaryFolder folder;
    folder.write("a.tsv", "one\tx\ntwo\ty\nthree\tx\nfour\ty\n");
    for (const auto& [limit, expected] : std::vector<std::pair<int, std::int64_t>>{{0, 3}, {2, 1}, {100, 3}}) {
        const ObjectiveCase test(folder,
                                 text_of(R"({"model": {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1,
            "num_attention_heads": 2, "intermediate_size": 12, "max_position_embeddings": 16, "num_labels": 2,
            "architectures": ["BertForSequenceClassification"]}, "tokenizer": "characters", "objective": "labels",
            "steps": 4, "data": {"length": 8, "limit": )",
                                         limit, "}}"),
                                 "a.tsv");
        const auto real = test.make();
        const WatchedObjective watched(*real);
        Trainer trainer(test.model(), watched, test.recipe());
        while (!trainer.finished()) trainer.step();
        EXPECT_EQ(watched.highest, expected) << limit;
    }
}

const char* const two_classes = R"({"model": {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 12, "max_position_embeddings": 16, "num_labels": 2,
    "architectures": ["BertForSequenceClassification"]}, "tokenizer": "characters", "objective": "labels", "batch": 2,
    "steps": 6, "data": {"length": 8, "held_out": )";

TEST(HeldOut, TheLastExamplesAreEvaluatedOnAndNotLearnedFrom) {
    const TemporaryFolder folder;
    folder.write("a.tsv", "one\tx\ntwo\ty\nthree\tx\nfour\ty\nfive\tx\n");
    const ObjectiveCase test(folder, text_of(two_classes, "2}}"), "a.tsv");
    const auto all = test.make();
    const WatchedObjective watched(*all);
    Trainer trainer(test.model(), watched, test.recipe());
    while (!trainer.finished()) trainer.step();
    EXPECT_EQ(watched.highest, 2);
    const HeldOut held_out(*all, 2);
    EXPECT_EQ(held_out.batch({0, 1}, {}).inputs.labels.to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 0}));
    const Evaluation found = trainer.evaluate(held_out);
    EXPECT_EQ(found.answers.total, 2);
    EXPECT_EQ(held_out.batch({0, 1}, {}).inputs.input_ids.to_vector<std::int64_t>(),
              all->batch({3, 4}, {}).inputs.input_ids.to_vector<std::int64_t>());
}

TEST(HeldOut, SomethingMustBeLeft) {
    const TemporaryFolder folder;
    folder.write("a.tsv", "one\tx\ntwo\ty\n");
    const ObjectiveCase test(folder, text_of(two_classes, "2}}"), "a.tsv");
    const auto all = test.make();
    testing::expect_error([&] { Trainer(test.model(), *all, test.recipe()); }, {"data.held_out", "2 of 2 examples"});
}

TEST(UsualObjective, IsToldByTheModel) {
    const auto objective = [](const std::string& config) {
        const auto model = models::build({formats::Json::parse(config, "config.json"), "config.json"});
        const ObjectiveTraits* found = default_objective(*model);
        return std::string(found ? found->name : "none");
    };
    EXPECT_EQ(objective(R"({"model_type": "vit", "num_labels": 3})"), "classify");
    EXPECT_EQ(objective(R"({"model_type": "autoencoder", "input_width": 16, "encoder_widths": [4]})"), "autoencode");
    EXPECT_EQ(objective(R"({"model_type": "bert"})"), "masked");
    EXPECT_EQ(objective(R"({"model_type": "bert", "architectures": ["BertForSequenceClassification"]})"), "labels");
    EXPECT_EQ(objective(R"({"model_type": "t5"})"), "pairs");
    EXPECT_EQ(objective(R"({"model_type": "gpt2"})"), "causal");
    EXPECT_EQ(objective(R"({"model_type": "siglip_vision_model"})"), "none");
    // What has no head yet gets one.
    EXPECT_EQ(objective(R"({"model_type": "bert", "architectures": ["BertModel"]})"), "labels");
    EXPECT_EQ(objective(R"({"model_type": "vit", "architectures": ["ViTModel"]})"), "classify");
}

// An encoder under any head is given labels to learn them; a decoder reads such files as texts.
TEST(UsualObjective, IsToldByTheDataWhereThatHasLabels) {
    const TemporaryFolder folder;
    folder.write("labels.tsv", "one\tx\ntwo\ty\n");
    folder.write("plain.txt", "one two\n");
    const auto objective = [&](const std::string& config, const char* file) {
        const auto model = models::build({formats::Json::parse(config, "config.json"), "config.json"});
        return std::string(default_objective(*model, {(folder / file).string()})->name);
    };
    EXPECT_EQ(objective(R"({"model_type": "bert"})", "labels.tsv"), "labels");
    EXPECT_EQ(objective(R"({"model_type": "bert"})", "plain.txt"), "masked");
    EXPECT_EQ(objective(R"({"model_type": "gpt2"})", "labels.tsv"), "causal");
    EXPECT_EQ(objective(R"({"model_type": "vit"})", "labels.tsv"), "classify");
}

}  // namespace
}  // namespace tessera::training
