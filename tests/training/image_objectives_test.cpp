// Objectives over images: what the model sees, what it is to say, and nothing learned from padding.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/objective_case.h"
#include "support/scene_set.h"
#include "tessera/core/parallel.h"
#include "tessera/formats/image/image.h"
#include "tessera/tensor/tape.h"

namespace tessera::training {
namespace {

using testing::expect_error;
using testing::ObjectiveCase;
using testing::TemporaryFolder;
using testing::values_of;
using Ids = std::vector<std::int64_t>;

constexpr RandomKey key{3, 4};

formats::Image plain(std::uint8_t red, std::uint8_t green, std::uint8_t blue, std::int64_t side = 8) {
    formats::Image image(side, side);
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
        image.pixels[i] = i % 3 == 0 ? red : i % 3 == 1 ? green : blue;
    return image;
}

// Two classes of one image each.
void write_classes(const TemporaryFolder& folder, const std::string& name) {
    for (const char* part : {"/blue", "/red"}) std::filesystem::create_directories(folder / (name + part));
    formats::write_png(folder / (name + "/red/1.png"), plain(255, 0, 0));
    formats::write_png(folder / (name + "/blue/1.png"), plain(0, 0, 255));
}

const std::string vit = R"("model": {"model_type": "vit", "hidden_size": 8, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 12, "image_size": 8, "patch_size": 4, "num_labels": 2})";
const std::string mlp = R"("model": {"model_type": "mlp_classifier", "input_width": 16, "hidden_widths": [5],
    "classes": 2})";
const std::string autoencoder = R"("model": {"model_type": "autoencoder", "input_width": 16,
    "encoder_widths": [5, 3]})";

TEST(ClassifyObjective, PicturesAndClassesOfEachModel) {
    const TemporaryFolder folder;
    write_classes(folder, "set");
    const ObjectiveCase colour(folder, "{" + vit + R"(, "objective": "classify"})", "set");
    const auto objective = colour.make();
    EXPECT_EQ(objective->classes(), (std::vector<std::string>{"blue", "red"}));
    const TrainingBatch batch = objective->batch({1, 0}, key);
    EXPECT_EQ(values_of(batch.inputs.labels), (Ids{1, 0}));
    EXPECT_EQ(batch.inputs.pixel_values.shape(), (Shape{2, 3, 8, 8}));
    EXPECT_EQ(batch.inputs.pixel_values.to_vector<float>().front(), 1.0f);  // red, normalised to [−1, 1]
    EXPECT_EQ(batch.units, 2);
    // Flat images: 16 values are 4 × 4 in grey, from 0 to 1.
    const ObjectiveCase flat(folder, "{" + mlp + R"(, "objective": "classify"})", "set");
    const Tensor pixels = flat.make()->batch({1}, key).inputs.pixel_values;
    EXPECT_EQ(pixels.shape(), (Shape{1, 1, 4, 4}));
    EXPECT_NEAR(pixels.to_vector<float>().front(), 76 / 255.0, 1e-6);
    const NoGrad no_grad;
    for (const ObjectiveCase* test : {&colour, &flat})
        EXPECT_TRUE(std::isfinite(test->make()->loss(test->model(), test->make()->batch({0, 1}, key), {}).item()));
}

TEST(ClassifyObjective, ClassesMustFit) {
    const TemporaryFolder folder;
    write_classes(folder, "set");
    write_classes(folder, "other");
    std::filesystem::rename(folder / "other/red", folder / "other/green");
    const ObjectiveCase test(folder, "{" + vit + R"(, "objective": "classify"})", "set");
    expect_error([&] { test.make({(folder / "other").string()}); }, {"green", "no class"});
    std::filesystem::create_directories(folder / "set/third");
    formats::write_png(folder / "set/third/1.png", plain(0, 255, 0));
    expect_error([&] { test.make(); }, {"3 classes", "the model 2"});
    expect_error([&] { ObjectiveCase(folder, "{" + autoencoder + R"(, "objective": "classify"})", "set").make(); },
                 {"does not classify"});
}

TEST(ClassifyObjective, LayersMayLearnOneAfterAnother) {
    const TemporaryFolder folder;
    write_classes(folder, "set");
    const auto loss_of = [&](const std::string& widths) {
        const ObjectiveCase test(folder,
                                 R"({"model": {"model_type": "mlp_classifier", "input_width": 16, "classes": 2,
            "hidden_widths": )" + widths +
                                     R"(}, "objective": "classify", "layer_wise": true})",
                                 "set");
        const auto objective = test.make();
        EXPECT_EQ(objective->phases().size(), 2u);
        TrainingBatch batch = objective->batch({0, 1}, key);
        batch.phase = 0;
        return objective->loss(test.model(), batch, {}).item();
    };
    EXPECT_NEAR(loss_of("[5, 5]"), std::log(2), 0.1);
    expect_error([&] { loss_of("[5, 4]"); }, {"hidden_widths", "equal", "5", "4"});
    expect_error(
        [&] { ObjectiveCase(folder, "{" + vit + R"(, "objective": "classify", "layer_wise": true})", "set").make(); },
        {"layer_wise"});
}

TEST(AutoencodeObjective, ALayerLearnsFromItsOwnInputAlone) {
    const TemporaryFolder folder;
    write_classes(folder, "set");
    const ObjectiveCase whole(folder, "{" + autoencoder + R"(, "objective": "autoencode"})", "set"),
        layers(folder, "{" + autoencoder + R"(, "objective": "autoencode", "layer_wise": true})", "set");
    EXPECT_TRUE(whole.make()->phases().empty());
    EXPECT_EQ(layers.make()->phases(),
              (std::vector<std::vector<std::string>>{{"encoder.0.", "decoder.1."}, {"encoder.1.", "decoder.0."}}));
    const auto gradient = [&](const ObjectiveCase& test, const char* name, std::int64_t phase) {
        const auto objective = test.make();
        nn::set_requires_grad(test.model(), true);
        std::vector<double> values;
        for (const auto& [other, tensor] : nn::parameters(test.model())) tensor->set_grad({});
        TrainingBatch batch = objective->batch({0, 1}, key);
        batch.phase = phase;
        backward(objective->loss(test.model(), batch, {}));
        for (const auto& [other, tensor] : nn::parameters(test.model()))
            if (other == name && tensor->grad().defined()) values = tensor->grad().to_vector<double>();
        return values;
    };
    const auto scale = [&](const ObjectiveCase& test, const char* name) {
        const NoGrad no_grad;
        for (const auto& [other, tensor] : nn::parameters(test.model()))
            if (other == name) tensor->fill(0.3);
    };
    for (const bool layer_wise : {true, false}) {
        const ObjectiveCase& test = layer_wise ? layers : whole;
        const std::vector<double> before = gradient(test, "encoder.0.weight", 0);
        scale(test, "encoder.1.weight");
        EXPECT_EQ(before == gradient(test, "encoder.0.weight", 0), layer_wise);
    }
    EXPECT_NE(gradient(layers, "encoder.1.weight", 1), std::vector<double>(15, 0.0));
    EXPECT_TRUE(gradient(layers, "encoder.0.weight", 1).empty());
    expect_error([&] { ObjectiveCase(folder, "{" + vit + R"(, "objective": "autoencode"})", "set").make(); },
                 {"does not reconstruct", "it learns by classify"});
}

const std::string vision_language = R"("model": {"model_type": "paligemma", "image_token_index": 90,
    "projection_dim": 12, "text_config": {"model_type": "gemma", "hidden_size": 12, "num_attention_heads": 2,
        "num_key_value_heads": 1, "head_dim": 8, "num_hidden_layers": 2, "intermediate_size": 20, "vocab_size": 80,
        "num_image_tokens": 4},
    "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 8, "num_attention_heads": 2,
        "num_hidden_layers": 1, "intermediate_size": 10, "image_size": 8, "patch_size": 4, "projection_dim": 12,
        "vision_use_head": false}}, "tokenizer": "characters", "objective": "prefix")";

TEST(PrefixObjective, OnlyTheSuffixIsLearned) {
    const TemporaryFolder folder;
    formats::write_png(folder / "a.png", plain(255, 0, 0, 11));
    formats::write_png(folder / "b.png", plain(0, 0, 255));
    folder.write("lines.jsonl",
                 "{\"image\": \"a.png\", \"prefix\": \"say\", \"suffix\": \"red\"}\n"
                 "{\"image\": \"b.png\", \"prefix\": \"what colour?\", \"suffix\": \"a blue one\"}\n");
    const ObjectiveCase test(folder, "{" + vision_language + "}", "lines.jsonl");
    const auto objective = test.make();
    const models::Batch one = objective->batch({0}, key).inputs;
    const Ids ids = values_of(one.input_ids), types = values_of(one.token_type_ids), labels = values_of(one.labels);
    // 4 patches, <s>, "say\n", "red", </s>
    ASSERT_EQ(ids.size(), 4u + 1 + 4 + 3 + 1);
    EXPECT_EQ(Ids(ids.begin(), ids.begin() + 4), Ids(4, 90));
    EXPECT_EQ(test.tokenizer->decode(Ids(ids.begin() + 9, ids.end())), "red</s>");
    for (std::size_t i = 0; i < ids.size(); ++i) {
        EXPECT_EQ(types[i], i >= 9) << i;
        EXPECT_EQ(labels[i], i >= 9 ? ids[i] : -100) << i;
    }
    EXPECT_FALSE(one.attention_mask.defined());
    const TrainingBatch both = objective->batch({0, 1}, key);
    EXPECT_EQ(both.inputs.pixel_values.shape(), (Shape{2, 3, 8, 8}));
    const NoGrad no_grad;
    const double first = objective->loss(test.model(), objective->batch({0}, key), {}).item(),
                 second = objective->loss(test.model(), objective->batch({1}, key), {}).item();
    EXPECT_NEAR(objective->loss(test.model(), both, {}).item(), (first * 4 + second * 11) / 15, 1e-5);
}

TEST(PrefixObjective, AScenesFileIsData) {
    const testing::SceneSet set;
    set.file(testing::shapes_only);
    const ObjectiveCase test(set.folder, "{" + vision_language + "}", "set.scenes.json");
    const auto objective = test.make();
    EXPECT_EQ(objective->examples(), 400);
    const int threads = thread_count();
    set_thread_count(1);
    const models::Batch one = objective->batch({5, 390, 7}, key).inputs;
    set_thread_count(3);
    const TrainingBatch batch = objective->batch({5, 390, 7}, key);
    set_thread_count(threads);
    EXPECT_EQ(values_of(batch.inputs.input_ids), values_of(one.input_ids));
    EXPECT_EQ(batch.inputs.pixel_values.to_vector<float>(), one.pixel_values.to_vector<float>());
    const Ids labels = values_of(batch.inputs.labels);
    Ids suffix;
    for (std::int64_t i = 0; i < batch.inputs.labels.shape()[1]; ++i)
        if (labels[static_cast<std::size_t>(i)] != -100) suffix.push_back(labels[static_cast<std::size_t>(i)]);
    EXPECT_EQ(test.tokenizer->decode(suffix),
              scenes::Scenes(set.folder / "set.scenes.json").texts_at(5).suffix + "</s>");
    const NoGrad no_grad;
    EXPECT_TRUE(std::isfinite(objective->loss(test.model(), batch, {}).item()));
}

TEST(PrefixObjective, NeedsAModelThatTalksAboutImages) {
    const TemporaryFolder folder;
    formats::write_png(folder / "a.png", plain(255, 0, 0));
    folder.write("lines.jsonl", R"({"image": "a.png", "prefix": "say", "suffix": "red"})");
    expect_error(
        [&] {
            ObjectiveCase(folder, "{" + vit + R"(, "tokenizer": "characters", "objective": "prefix"})", "lines.jsonl")
                .make();
        },
        {"does not continue texts about images"});
}

TEST(ContrastiveObjective, ImageAndTextOfALineStandInOneRow) {
    const TemporaryFolder folder;
    formats::write_png(folder / "a.png", plain(255, 0, 0));
    formats::write_png(folder / "b.png", plain(0, 0, 255));
    folder.write("lines.jsonl",
                 "{\"image\": \"a.png\", \"text\": \"red\"}\n{\"image\": \"b.png\", \"text\": \"blue\"}\n");
    const std::string towers = R"({"model": {"model_type": "siglip",
        "text_config": {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 10,
            "vocab_size": 60, "max_position_embeddings": 6},
        "vision_config": {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 10,
            "image_size": 8, "patch_size": 4}}, "tokenizer": "characters", "objective": "contrastive"})";
    const ObjectiveCase test(folder, towers, "lines.jsonl");
    const auto objective = test.make();
    const TrainingBatch batch = objective->batch({1, 0}, key);
    EXPECT_EQ(test.tokenizer->decode(values_of(batch.inputs.input_ids)), "blue</s><pad>red</s><pad><pad>");
    const std::vector<float> pixels = batch.inputs.pixel_values.to_vector<float>();
    EXPECT_EQ(pixels[0], -1.0f);      // no red in the first
    EXPECT_EQ(pixels[3 * 64], 1.0f);  // but in the second
    EXPECT_STREQ(objective->unit(), "images");
    const NoGrad no_grad;
    EXPECT_TRUE(std::isfinite(objective->loss(test.model(), batch, {}).item()));
}

}  // namespace
}  // namespace tessera::training
