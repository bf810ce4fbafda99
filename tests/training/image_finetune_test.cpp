// Fine-tuning a vision-language model, in full and by adapters: the folder that is left says the same tokens as the
// model that learned, and they are what it was taught.
#include <gtest/gtest.h>

#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/formats/image/image.h"
#include "tessera/inference/generator.h"
#include "tessera/inference/image_prompt.h"
#include "tessera/models/opened_model.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/run/session.h"

namespace tessera::training {
namespace {

using testing::golden_path;
using Accuracy = std::vector<std::vector<std::int64_t>>;

const std::string prompt = "say";

formats::Image plain(std::uint8_t red, std::uint8_t blue) {
    formats::Image image(32, 32);
    for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
        image.pixels[i] = red;
        image.pixels[i + 2] = blue;
    }
    return image;
}

const formats::Image images[] = {plain(255, 0), plain(0, 255)};

// What a model says about each image.
Accuracy answers_of(const models::Model& model, const tokenizers::Tokenizer& tokenizer) {
    models::OpenedModel asked = models::open_model(golden_path("paligemma"));
    asked.tokenizer = std::shared_ptr<const tokenizers::Tokenizer>(std::shared_ptr<void>(), &tokenizer);
    Accuracy answers;
    for (const formats::Image& image : images) {
        const inference::ImagePrompts about = inference::image_prompts(asked, {&prompt, 1}, {&image, 1});
        const inference::Generated generated =
            inference::generate(model, about.batch, {.max_new_tokens = 8, .stop_ids = {1}});
        answers.push_back(generated.tokens[0]);
    }
    return answers;
}

void expect_the_same_tokens_afterwards(const std::vector<std::string>& settings) {
    const testing::TemporaryFolder folder;
    formats::write_png(folder / "red.png", images[0]);
    formats::write_png(folder / "blue.png", images[1]);
    folder.write("lines.jsonl",
                 "{\"image\": \"red.png\", \"prefix\": \"say\", \"suffix\": \"red\"}\n"
                 "{\"image\": \"blue.png\", \"prefix\": \"say\", \"suffix\": \"blue\"}\n");
    formats::Json recipe = formats::Json::object();
    recipe.set("model", golden_path("paligemma"))
        .set("tokenizer", "characters")
        .set("objective", "prefix")
        .set("data", formats::Json::object().set("train", (folder / "lines.jsonl").string()))
        .set("batch", 2)
        .set("steps", 40)
        .set("spike", 0)
        .set("sample", formats::Json::object().set("every", 40));
    Accuracy taught;
    run_session(read_recipe(resolve_recipe(std::move(recipe), settings, "test")), {.folder = folder / "out"},
                {.on_sample = [&](const models::OpenedModel& model, std::int64_t) {
                    taught = answers_of(*model.model, model.text());
                }});
    ASSERT_EQ(taught.size(), 2u);
    const models::OpenedModel again =
        models::open_model(folder / "out", {.needs_tokenizer = models::NeedsTokenizer::Yes});
    EXPECT_EQ(answers_of(*again.model, again.text()), taught);
    EXPECT_EQ(again.text().decode(taught[0]), "red</s>");
    EXPECT_EQ(again.text().decode(taught[1]), "blue</s>");
    if (!models::has_adapters(*again.model)) return;
    models::merge_adapters(*again.model);
    EXPECT_EQ(answers_of(*again.model, again.text()), taught);
}

TEST(ImageFinetune, InFull) { expect_the_same_tokens_afterwards({"optimizer.learning_rate=0.003"}); }

TEST(ImageFinetune, ByAdapters) {
    expect_the_same_tokens_afterwards({"lora.rank=8", "optimizer.learning_rate=0.01", "optimizer.weight_decay=0"});
}

}  // namespace
}  // namespace tessera::training
