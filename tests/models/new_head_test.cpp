// A checkpoint under a new head: what it knew stays, and only what chooses between the classes is new.
#include "tessera/models/new_head.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/catalog.h"
#include "tessera/models/vision/vision.h"
#include "tessera/nn/lora.h"

namespace tessera::models {
namespace {

using testing::golden_path;

std::map<std::string, std::vector<float>> values_of(Model& model) {
    std::map<std::string, std::vector<float>> values;
    for (const auto& [name, tensor] :
         checkpoint_tensors(model, model.weights, [](const Tensor& value) { return value.detach(); }))
        values.emplace(name, tensor.to_vector<float>());
    return values;
}

// Every tensor but the head's is the checkpoint's; the rest is named.
std::vector<std::string> differing(const std::string& golden, const std::vector<std::string>& classes) {
    const formats::Checkpoint checkpoint = open(golden_path(golden));
    const auto model = load_under_head(checkpoint, with_classes(checkpoint.config, classes), 1);
    const auto before = values_of(*load(checkpoint)), after = values_of(*model);
    std::vector<std::string> names;
    for (const auto& [name, values] : after) {
        const auto found = before.find(name);
        if (found == before.end() || found->second != values) names.push_back(name);
    }
    EXPECT_EQ(class_names(model->config), classes);
    return names;
}

TEST(NewHead, IsTheOnlyThingThatIsNew) {
    EXPECT_EQ(differing("vit", {"cat", "dog", "hen"}),
              (std::vector<std::string>{"classifier.bias", "classifier.weight"}));
    EXPECT_EQ(differing("roberta-mlm", {"bad", "good"}),
              (std::vector<std::string>{"classifier.dense.bias", "classifier.dense.weight", "classifier.out_proj.bias",
                                        "classifier.out_proj.weight"}));
    const std::vector<std::string> of_bert = differing("bert-mlm", {"bad", "good"});
    EXPECT_EQ(of_bert.size(), 4u);  // the classifier and the pooler
}

TEST(NewHead, TheConfigSaysWhatTheModelIsNow) {
    const Config config = with_classes(open(golden_path("bert-mlm")).config, {"ham", "spam"});
    EXPECT_EQ(config.texts("architectures"), std::vector<std::string>{"BertForSequenceClassification"});
    EXPECT_EQ(config.section("id2label").text("1"), "spam");
    EXPECT_EQ(config.section("label2id").integer("spam"), 1);
    EXPECT_TRUE(can_classify(config));
    EXPECT_EQ(with_classes(open(golden_path("vit")).config, {"a"}).texts("architectures"),
              std::vector<std::string>{"ViTForImageClassification"});
    for (const char* golden : {"llama", "t5", "siglip", "paligemma"})
        EXPECT_FALSE(can_classify(open(golden_path(golden)).config)) << golden;
}

// Adapters of a classifier bring its head, and the names of the classes.
class AdaptedHead : public ::testing::Test {
   protected:
    AdaptedHead() {
        const formats::Checkpoint base = open(base_);
        const auto model = load_under_head(base, with_classes(base.config, {"cat", "dog"}), 7);
        const AdapterSettings settings{.rank = 2, .alpha = 4, .head = true};
        attach_adapters(*model, settings, {.seed = 3});
        nn::for_each_linear(*model, [](const std::string&, nn::Linear& linear) {
            if (linear.adapter) static_cast<nn::Lora&>(*linear.adapter).up.fill(0.01);
        });
        save_adapters(*model, settings, base_, folder_ / "adapters");
        scores_ = scores_of(*model);
    }
    static std::vector<float> scores_of(const Model& model) {
        std::vector<float> pixels(3 * 32 * 32);
        for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i % 17) / 17;
        return model.forward({.pixel_values = Tensor::from(pixels, {1, 3, 32, 32})}).to_vector<float>();
    }
    std::string base_ = golden_path("vit");
    testing::TemporaryFolder folder_;
    std::vector<float> scores_;
};

TEST_F(AdaptedHead, ComesBackWithTheFolder) {
    const auto model = load(folder_ / "adapters");
    EXPECT_EQ(scores_of(*model), scores_);
    EXPECT_EQ(class_names(model->config), (std::vector<std::string>{"cat", "dog"}));
    merge_adapters(*model);
    const std::vector<float> merged = scores_of(*model);
    ASSERT_EQ(merged.size(), 2u);
    for (std::size_t i = 0; i < merged.size(); ++i) EXPECT_NEAR(merged[i], scores_[i], 1e-5);
}

TEST_F(AdaptedHead, ItsImagesArePreparedAsTheBasesAre) {
    const std::filesystem::path base = folder_ / "base";
    std::filesystem::create_directories(base);
    for (const char* file : {"config.json", "model.safetensors"})
        std::filesystem::copy_file(std::filesystem::path(base_) / file, base / file);
    folder_.write("base/preprocessor_config.json", R"({"image_mean": [0.1, 0.2, 0.3]})");
    const auto model = load(folder_ / "adapters");
    save_adapters(*model, {.rank = 2, .alpha = 4, .head = true}, base.string(), folder_ / "adapters");
    EXPECT_EQ(image_processor_config(folder_ / "adapters", model->config).mean[1], 0.2);
}

TEST_F(AdaptedHead, IsNoAdaptedLayer) {
    const auto tensors = formats::read_safetensors(folder_ / "adapters/adapter_model.safetensors").tensors;
    EXPECT_TRUE(tensors.contains("base_model.model.classifier.weight"));
    EXPECT_TRUE(tensors.contains("base_model.model.classifier.bias"));
    EXPECT_FALSE(tensors.contains("base_model.model.classifier.lora_A.weight"));
}

TEST(NewHead, OfSeveralLayersIsKeptByItsOwnName) {
    const testing::TemporaryFolder folder;
    const auto kept = [&](const std::string& golden) {
        const formats::Checkpoint base = open(golden_path(golden));
        const auto model = load_under_head(base, with_classes(base.config, {"a", "b"}), 7);
        const AdapterSettings settings{.rank = 1, .alpha = 1, .head = true};
        attach_adapters(*model, settings, {.seed = 3});
        save_adapters(*model, settings, golden_path(golden), folder / golden);
        load(folder / golden);
        const Config config(formats::Json::read(folder / golden / "adapter_config.json"), golden);
        return config.texts("modules_to_save");
    };
    EXPECT_EQ(kept("roberta-mlm"), std::vector<std::string>{"classifier"});
    EXPECT_EQ(kept("bert-mlm"), (std::vector<std::string>{"bert.pooler.dense", "classifier"}));
}

// A folder that the reference's library wrote has no config of the model: its classes are counted.
TEST_F(AdaptedHead, IsCountedWhereNothingNamesItsClasses) {
    std::filesystem::remove(folder_ / "adapters/config.json");
    const auto model = load(folder_ / "adapters");
    EXPECT_EQ(scores_of(*model), scores_);
    EXPECT_EQ(class_names(model->config), (std::vector<std::string>{"LABEL_0", "LABEL_1"}));
}

TEST_F(AdaptedHead, OfAnotherShapeIsRefused) {
    folder_.write("adapters/config.json", with_classes(open(base_).config, {"one", "two", "three"}).json().dump());
    testing::expect_error([&] { load(folder_ / "adapters"); }, {"adapter_model.safetensors", "classifier.", "shape"});
}

}  // namespace
}  // namespace tessera::models
