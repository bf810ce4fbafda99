// Classes and labels of images, against what the model itself says of the same pixels and tokens.
#include "tessera/inference/classify.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "support/tiny_config.h"
#include "tessera/data/image_processor.h"
#include "tessera/models/catalog.h"
#include "tessera/models/families/siglip_texts.h"
#include "tessera/tensor/tape.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::inference {
namespace {

namespace fs = std::filesystem;
using formats::Image;
using testing::config_of;
using testing::expect_error;

const std::string tiny_vit =
    R"({"model_type": "vit", "hidden_size": 12, "num_attention_heads": 3, "num_hidden_layers": 1,
    "intermediate_size": 20, "image_size": 16, "patch_size": 8, "id2label": {"0": "cat", "1": "dog", "2": "owl"}})";
const std::string tiny_siglip = R"({"model_type": "siglip", "text_config": {"vocab_size": 1000, "hidden_size": 16,
    "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 20, "max_position_embeddings": 24},
    "vision_config": {"hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 20,
    "image_size": 16, "patch_size": 8}})";

Image shaded_image(int shade) {
    Image image(20, 30);
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
        image.pixels[i] = static_cast<std::uint8_t>(i * static_cast<std::size_t>(shade));
    return image;
}

void save(const std::string& config, const fs::path& folder) {
    models::save(*models::initialised(config_of(config), 1), folder);
}

TEST(ClassifyImages, ClassesExcludeEachOther) {
    const testing::TemporaryFolder folder;
    save(tiny_vit, folder / "m");
    const Image images[] = {shaded_image(3), shaded_image(7)};
    const auto answers = classify_images(models::open_model(folder / "m"), images);
    ASSERT_EQ(answers.size(), 2u);
    const NoGrad no_grad;
    const formats::ImageProcessorConfig settings{.size = {.height = 16, .width = 16},
                                                 .resampling = formats::Resampling::Bilinear};
    const std::vector<double> logits =
        models::load(folder / "m")->forward({.pixel_values = data::pixel_values(images, settings)}).to_vector<double>();
    for (std::size_t i = 0; i < 2; ++i) {
        double sum = 0, exponentials = 0;
        for (std::size_t k = 0; k < 3; ++k) exponentials += std::exp(logits[i * 3 + k]);
        for (const LabelScore& one : answers[i]) {
            const std::size_t k = one.label == "cat" ? 0 : one.label == "dog" ? 1 : 2;
            EXPECT_NEAR(one.score, logits[i * 3 + k], 1e-6);
            EXPECT_NEAR(one.probability, std::exp(logits[i * 3 + k]) / exponentials, 1e-6);
            sum += one.probability;
        }
        EXPECT_NEAR(sum, 1, 1e-9);
        EXPECT_GE(answers[i][0].probability, answers[i][1].probability);
        EXPECT_GE(answers[i][1].probability, answers[i][2].probability);
    }
}

TEST(ClassifyImages, ClassesThatDoNotExcludeEachOther) {
    const testing::TemporaryFolder folder;
    save(
        testing::replaced(tiny_vit, R"("image_size")", R"("problem_type": "multi_label_classification", "image_size")"),
        folder / "m");
    const Image image = shaded_image(3);
    const auto answers = classify_images(models::open_model(folder / "m"), {&image, 1});
    for (const LabelScore& one : answers[0]) EXPECT_NEAR(one.probability, 1 / (1 + std::exp(-one.score)), 1e-9);
}

class ZeroShot : public ::testing::Test {
   protected:
    void SetUp() override {
        save(tiny_siglip, model);
        fs::copy(testing::golden_path("tokenizers/unigram-t5/tokenizer.json"), model / "tokenizer.json");
    }
    static std::vector<LabelScores> classify(const fs::path& folder, const ZeroShotLabels& zero_shot = {}) {
        const Image image = shaded_image(5);
        return classify_images(models::open_model(folder), {&image, 1}, zero_shot);
    }
    double score(const ZeroShotLabels& zero_shot, const std::string& label) {
        const auto answers = classify(model, zero_shot);
        for (const LabelScore& one : answers[0])
            if (one.label == label) return one.score;
        ADD_FAILURE() << label;
        return 0;
    }
    testing::TemporaryFolder folder;
    fs::path model = folder / "m";
};

TEST_F(ZeroShot, LabelsAreTexts) {
    const std::vector<std::string> texts = {"This is a photo of a cat.", "This is a photo of Two dogs."};
    const auto tokenizer = tokenizers::open_tokenizer(model);
    const auto loaded = models::load(model);
    std::vector<std::int64_t> ids;
    for (const auto& row : models::siglip_texts(loaded->config, model, *tokenizer, texts)) {
        ASSERT_EQ(row.size(), 24u);
        ids.insert(ids.end(), row.begin(), row.end());
    }
    const Image image = shaded_image(5);
    const NoGrad no_grad;
    const Tensor pixels = data::pixel_values({&image, 1}, {.size = {.height = 16, .width = 16}});
    const std::vector<double> logits =
        loaded->forward({.input_ids = Tensor::from(ids, {2, 24}), .pixel_values = pixels}).to_vector<double>();
    const ZeroShotLabels options{.labels = {"a cat", "Two dogs"}};
    EXPECT_NEAR(score(options, "a cat"), logits[0], 1e-5);
    EXPECT_NEAR(score(options, "Two dogs"), logits[1], 1e-5);
    const auto answers = classify(model, options);
    for (const LabelScore& one : answers[0]) EXPECT_NEAR(one.probability, 1 / (1 + std::exp(-one.score)), 1e-9);
}

TEST_F(ZeroShot, EachLabelIsAQuestionOfItsOwn) {
    const double alone = score({.labels = {"a cat"}}, "a cat");
    EXPECT_NEAR(score({.labels = {"an owl", "a cat", "nothing at all"}}, "a cat"), alone, 1e-5);
    EXPECT_GT(std::abs(score({.labels = {"a cat"}, .sentence = "{}"}, "a cat") - alone), 1e-6);
    expect_error([&] { classify(model, {.labels = {"x"}, .sentence = "a photo"}); }, {"a photo", "{}"});
}

TEST_F(ZeroShot, WhatDoesNotFitIsRefused) {
    expect_error([&] { classify(model); }, {"siglip", "labels"});
    fs::remove(model / "tokenizer.json");
    expect_error([&] { classify(model, {.labels = {"x"}}); }, {"tokenizer"});
    save(tiny_vit, folder / "vit");
    expect_error([&] { classify(folder / "vit", {.labels = {"x"}}); }, {"vit", "labels"});
    save(testing::replaced(tiny_vit, R"("image_size")", R"("architectures": ["ViTModel"], "image_size")"),
         folder / "bare");
    expect_error([&] { classify(folder / "bare"); }, {"bare", "no classifier"});
    expect_error([&] { classify(testing::golden_path("llama")); }, {"llama", "no images"});
    expect_error([&] { classify(testing::golden_path("paligemma")); }, {"does not classify"});
    expect_error([&] { classify(folder / "none"); }, {"none", "no such"});
}

}  // namespace
}  // namespace tessera::inference
