// A run that is broken off and resumed has the losses of one that was not, whatever is drawn at random for its batches.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "tessera/formats/json.h"
#include "tessera/models/catalog.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/run/session.h"

namespace tessera::training {
namespace {

using testing::TemporaryFolder;

const std::string masked = R"({"model": {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 12, "max_position_embeddings": 16},
    "tokenizer": "characters", "objective": "masked", "data": {"length": 16}, "batch": 2, "steps": 6,
    "save": {"every": 3}, "evaluate": {"every": 0}})";
const std::string span = R"({"model": {"model_type": "t5", "d_model": 8, "d_kv": 4, "d_ff": 12, "num_layers": 1,
    "num_heads": 2}, "tokenizer": "bytes", "objective": "span", "data": {"length": 16}, "batch": 2, "steps": 6,
    "save": {"every": 3}})";

std::vector<double> run(const Recipe& recipe, const std::filesystem::path& folder, bool resume) {
    std::vector<double> losses;
    SessionEvents events;
    events.on_step = [&](const StepReport& report, const char*) { losses.push_back(report.loss); };
    run_session(recipe, {.folder = folder, .resume = resume}, events);
    return losses;
}

TEST(ObjectiveResume, TheSameBatchesFollow) {
    const TemporaryFolder folder;
    std::string text;
    for (int i = 0; i < 400; ++i) text += static_cast<char>('a' + i * i % 23);
    const std::string data = text_of("data.train=", folder.write("a.txt", text).string());
    for (const std::string& json : {masked, span}) {
        const Recipe recipe =
            read_recipe(resolve_recipe(formats::Json::parse(json, "recipe.json"), {data}, "recipe.json"));
        const std::filesystem::path home = folder / recipe.objective;
        const std::vector<double> whole = run(recipe, home, false);
        ASSERT_EQ(whole.size(), 6u);
        std::filesystem::remove_all(home / "checkpoints" / "step-00000006");
        const std::vector<double> resumed = run(recipe, home, true);
        EXPECT_EQ(resumed, std::vector<double>(whole.begin() + 3, whole.end())) << recipe.objective;
    }
}

// The classes of the data are in the saved config, and an encoder goes on under another head.
TEST(ObjectiveResume, AnEncoderStartsAClassifier) {
    const TemporaryFolder folder;
    folder.write("a.txt", "some text that is long enough for a window or two of sixteen tokens");
    folder.write("labels.tsv", "fine text\tgood\nlong window\tbad\n");
    const auto read = [&](const std::string& json, std::vector<std::string> overrides) {
        return read_recipe(resolve_recipe(formats::Json::parse(json, "recipe.json"), overrides, "recipe.json"));
    };
    run(read(masked, {text_of("data.train=", (folder / "a.txt").string())}), folder / "masked", false);
    const std::string classifier = R"({"model": {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 12, "max_position_embeddings": 16, "num_labels": 2,
        "architectures": ["BertForSequenceClassification"]}, "objective": "labels", "data": {"length": 16},
        "batch": 2, "steps": 1, "optimizer": {"learning_rate": 0}})";
    const std::string from = (folder / "masked").string();
    run(read(classifier, {text_of("data.train=", (folder / "labels.tsv").string()), text_of("weights=", from),
                          text_of("tokenizer=", from)}),
        folder / "classifier", false);
    const auto before = models::load(folder / "masked"), after = models::load(folder / "classifier");
    EXPECT_EQ(after->config.section("id2label").text("0"), "bad");
    EXPECT_EQ(after->config.section("label2id").integer("good"), 1);
    std::size_t same = 0;
    for (const auto& [name, tensor] : nn::parameters(*after))
        for (const auto& [other, value] : nn::parameters(*before))
            if (name == other) {
                EXPECT_EQ(tensor->to_vector<float>(), value->to_vector<float>()) << name;
                ++same;
            }
    EXPECT_GT(same, 10u);
    testing::expect_error(
        [&] {
            run(read(classifier, {text_of("data.train=", (folder / "labels.tsv").string()), "weights=nowhere",
                                  text_of("tokenizer=", from)}),
                folder / "broken", false);
        },
        {"nowhere"});
}

}  // namespace
}  // namespace tessera::training
