// Recipes of the road in miniature: on small sets made here, a few steps are enough to see each of them learn.
#include <gtest/gtest.h>

#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/formats/json.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/run/session.h"

namespace tessera::training {
namespace {

using testing::TemporaryFolder;

std::string big_endian(std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
}

// Ten classes of 28 × 28: a bright bar in a row of its own, of a place and a length that vary.
void write_bars(const TemporaryFolder& folder, const std::string& name, std::uint32_t count, std::uint32_t seed) {
    std::string images = std::string{0, 0, 8, 3} + big_endian(count) + big_endian(28) + big_endian(28),
                labels = std::string{0, 0, 8, 1} + big_endian(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t label = i % 10, draw = (i + seed) * 2654435761u;
        std::string image(28 * 28, 0);
        for (std::uint32_t row = 0; row < 2; ++row)
            for (std::uint32_t column = draw % 7; column < 16 + draw / 7 % 11; ++column)
                image[(2 * label + 4 + row) * 28 + column] = static_cast<char>(200 + draw % 50);
        images += image;
        labels += static_cast<char>(label);
    }
    folder.write(name + "-images-idx3-ubyte", images);
    folder.write(name + "-labels-idx1-ubyte", labels);
}

struct Outcome {
    SessionResult result = {};
    std::vector<double> losses = {};
};

// A recipe of the road with settings in place of its own.
Outcome learn(const TemporaryFolder& folder, const std::string& name, const std::vector<std::string>& settings,
              const std::string& home) {
    const std::string file = testing::source_path("recipes/" + name);
    const Recipe recipe = read_recipe(resolve_recipe(formats::Json::read(file), settings, file));
    Outcome outcome;
    SessionEvents events;
    events.on_step = [&](const StepReport& report, const char*) { outcome.losses.push_back(report.loss); };
    outcome.result = run_session(recipe, {.folder = folder / home}, events);
    return outcome;
}

// Fewer layers than the recipes have, of a kind that learns in fewer steps.
const std::string rebuilder = R"(model={"model_type": "autoencoder", "input_width": 784,
    "encoder_widths": [256, 256, 256], "initializer_range": 0.06})";
const std::string classifier = R"(model={"model_type": "mlp_classifier", "input_width": 784,
    "hidden_widths": [256, 256, 256], "classes": 10, "initializer_range": 0.06})";

class Images : public ::testing::Test {
   protected:
    Images() {
        write_bars(folder_, "train", 200, 1);
        write_bars(folder_, "test", 50, 1000);
    }
    std::vector<std::string> settings(std::vector<std::string> more) const {
        std::vector<std::string> all{text_of("data.train=", (folder_ / "train-images-idx3-ubyte").string()),
                                     text_of("data.validation=", (folder_ / "test-images-idx3-ubyte").string()),
                                     "data.held_out=0",
                                     "evaluate.every=0",
                                     "batch=20",
                                     "schedule.warmup=2"};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    TemporaryFolder folder_;
};

TEST_F(Images, AVisionTransformerLearns) {
    const Outcome outcome =
        learn(folder_, "mnist-vit.quick.json", settings({"steps=60", "optimizer.learning_rate=0.004"}), "vit");
    EXPECT_EQ(outcome.result.answers.total, 50);
    EXPECT_GT(outcome.result.answers.share(), 0.8);
}

TEST_F(Images, LayersOfAnAutoencoderLearnOneAfterAnotherAndAClassifierStartsFromThem) {
    const Outcome layers = learn(folder_, "mnist-autoencoder.quick.json", settings({"steps=90", rebuilder}), "layers");
    for (std::size_t layer = 0; layer < 3; ++layer)
        EXPECT_LT(layers.losses[30 * layer + 29], 0.7 * layers.losses[30 * layer]) << "layer " << layer;
    const std::string weights = text_of("weights=", (folder_ / "layers").string());
    const Outcome classes =
        learn(folder_, "mnist-mlp.quick.json", settings({"steps=40", classifier, weights}), "classes");
    EXPECT_GT(classes.result.answers.share(), 0.9);
}

TEST_F(Images, LayersOfAClassifierLearnOneAfterAnother) {
    const Outcome layers = learn(folder_, "mnist-supervised.quick.json", settings({"steps=90", classifier}), "layers");
    for (std::size_t layer = 0; layer < 3; ++layer) EXPECT_LT(layers.losses[30 * layer + 29], 1.0) << layer;
    EXPECT_GT(layers.result.answers.share(), 0.9);
}

// Two kinds of letters, of which each has words of its own among those that both have.
void write_letters(const TemporaryFolder& folder, const std::string& name, std::uint32_t count, std::uint32_t seed) {
    const char *both[] = {"the ", "and ", "we ", "of "}, *ham[] = {"code ", "patch "}, *spam[] = {"free ", "win "};
    std::string lines, texts;
    for (std::uint32_t i = 0; i < count; ++i) {
        std::uint32_t draw = (i + seed) * 2654435761u;
        std::string text;
        for (int word = 0; word < 4; ++word, draw = draw * 1664525u + 1013904223u) {
            text += both[draw >> 28 & 3];
            if (word % 2 == 0) text += i % 2 == 0 ? ham[draw >> 20 & 1] : spam[draw >> 20 & 1];
        }
        text.pop_back();
        lines += text + (i % 2 == 0 ? "\tham\n" : "\tspam\n");
        texts += text + "\n";
    }
    folder.write(name + ".tsv", lines);
    folder.write(name + ".txt", texts);
}

class Letters : public ::testing::Test {
   protected:
    Letters() {
        write_letters(folder_, "train", 120, 1);
        write_letters(folder_, "test", 40, 5000);
    }
    std::vector<std::string> settings(const std::string& ending, std::vector<std::string> more) const {
        std::vector<std::string> all{text_of("data.train=", (folder_ / ("train" + ending)).string()),
                                     text_of("data.validation=", (folder_ / ("test" + ending)).string()),
                                     "evaluate.every=0",
                                     "tokenizer=characters",
                                     "data.limit=0",
                                     "data.held_out=0",
                                     "schedule.warmup=4"};
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    TemporaryFolder folder_;
};

TEST_F(Letters, AnEncoderLearnsToFillGapsAndThenToTellTheKinds) {
    const Outcome gaps =
        learn(folder_, "bert.quick.json", settings(".txt", {"steps=60", "batch=8", "data.length=32"}), "gaps");
    EXPECT_LT(gaps.result.validation_loss, gaps.losses[0] - 0.6);
    const std::string weights = text_of("weights=", (folder_ / "gaps").string());
    const Outcome kinds = learn(folder_, "bert-spam.quick.json",
                                settings(".tsv", {"steps=40", "optimizer.learning_rate=0.003", weights}), "kinds");
    EXPECT_GT(kinds.result.answers.share(), 0.9);
}

TEST_F(Letters, SettingsCanBeChosenOnLettersHeldOut) {
    const Outcome outcome = learn(
        folder_, "bert-spam.quick.json",
        settings(".tsv", {"steps=2", "data.validation=[]", "data.held_out=20", "tokenizer=characters"}), "held-out");
    EXPECT_EQ(outcome.result.answers.total, 20);
}

TEST_F(Letters, AnEncoderDecoderAnswersInWords) {
    const Outcome answers = learn(folder_, "t5-subject.quick.json",
                                  settings(".tsv", {"steps=60", "optimizer.learning_rate=0.005",
                                                    "model={\"model_type\": \"t5\", \"d_model\": 32, \"d_kv\": 8, "
                                                    "\"d_ff\": 64, \"num_layers\": 1, \"num_heads\": 4, "
                                                    "\"dropout_rate\": 0, \"initializer_range\": 0.1}"}),
                                  "answers");
    EXPECT_EQ(answers.result.answers.total, 40);
    EXPECT_GT(answers.result.answers.share(), 0.9);
}

}  // namespace
}  // namespace tessera::training
