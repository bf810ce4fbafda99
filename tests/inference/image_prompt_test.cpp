// Texts about images, from words and pixels to the model's batch.
#include "tessera/inference/image_prompt.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/letter_tokenizer.h"
#include "tessera/data/image_processor.h"
#include "tessera/inference/generator.h"

namespace tessera::inference {
namespace {

using testing::expect_error;
using testing::golden_path;

models::OpenedModel opened(const char* golden) {
    models::OpenedModel model = models::open_model(golden_path(golden));
    model.tokenizer = std::make_shared<testing::LetterTokenizer>();
    return model;
}

// The golden's vocabulary ends at 200, its image token is 199, and an image has 16 patches.
TEST(ImagePrompt, RowsHoldTheSameImages) {
    const models::OpenedModel model = opened("paligemma");
    const formats::Image image = formats::read_image(golden_path("image-preprocess/picture.png"));
    const std::string texts[] = {"cat", "a longer one"};
    const ImagePrompts both = image_prompts(model, texts, {&image, 1});
    ASSERT_EQ(both.ids.size(), 2u);
    EXPECT_EQ(both.ids[0].size(), 16u + 1 + 3 + 1);
    EXPECT_EQ(both.batch.input_ids.shape(), (Shape{2, 16 + 1 + 12 + 1}));
    EXPECT_EQ(both.batch.pixel_values.shape(), (Shape{2, 3, 32, 32}));
    const GenerateOptions options{.max_new_tokens = 6};
    const Generated together = generate(*model.model, both.batch, options);
    for (std::size_t row = 0; row < 2; ++row) {
        const ImagePrompts one = image_prompts(model, std::span(texts).subspan(row, 1), {&image, 1});
        EXPECT_EQ(generate(*model.model, one.batch, options).tokens[0], together.tokens[row]);
    }
}

TEST(ImagePrompt, SeveralImagesInOneText) {
    const models::OpenedModel model = opened("paligemma");
    const formats::Image images[] = {formats::read_image(golden_path("image-preprocess/picture.png")),
                                     formats::read_image(golden_path("pictures/alpha.png"))};
    const std::string text = "which <image> is larger <image>?";
    const ImagePrompts prompts = image_prompts(model, {&text, 1}, images);
    EXPECT_EQ(prompts.batch.pixel_values.shape(), (Shape{2, 3, 32, 32}));
    EXPECT_EQ(std::count(prompts.ids[0].begin(), prompts.ids[0].end(), 199), 32);
    EXPECT_EQ(generate(*model.model, prompts.batch, {.max_new_tokens = 2}).tokens[0].size(), 2u);
}

TEST(ImagePrompt, PicturesCountInTheContext) {
    const models::OpenedModel model = opened("paligemma");  // 128 tokens
    const formats::Image image = formats::read_image(golden_path("pictures/alpha.png"));
    const std::string text = "what is it?";
    const ImagePrompts prompts = image_prompts(model, {&text, 1}, {&image, 1});
    const Generated generated = generate(*model.model, prompts.batch, {.max_new_tokens = 500});
    EXPECT_EQ(generated.endings[0], Ending::Context);
    EXPECT_EQ(generated.tokens[0].size(), 128 - prompts.ids[0].size() + 1);
    EXPECT_GT(prompts.ids[0].size(), 16u);  // its patches alone
    expect_error([&] { generate(*model.model, prompts.batch, {.context = {.tokens = 16}}); }, {"context of 16"});
    expect_error([&] { generate(*model.model, prompts.batch, {.context = {.end = AtContext::Shift}}); }, {"shifted"});
}

TEST(ImagePrompt, ModelsThatContinueNoTextsAboutImages) {
    const formats::Image image(4, 4);
    const std::string text = "a";
    for (const char* name : {"llama", "vit", "siglip"})
        expect_error([&] { image_prompts(opened(name), {&text, 1}, {&image, 1}); }, {name, "images"});
}

}  // namespace
}  // namespace tessera::inference
