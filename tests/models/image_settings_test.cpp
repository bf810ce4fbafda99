// How a folder says that its images are prepared: the styles of several years, and what is refused.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "support/tiny_config.h"
#include "tessera/models/vision/image_processor_defaults.h"
#include "tessera/models/vision/vision.h"

namespace tessera::models {
namespace {

using formats::ImageProcessorConfig;
using formats::Resampling;
using testing::config_of;
using testing::expect_error;

const std::string vit = R"({"model_type": "vit", "image_size": 96, "patch_size": 8})";
const std::string siglip = R"({"model_type": "siglip", "vision_config": {"image_size": 64}})";

class ImageSettingsOfFolders : public ::testing::Test {
   protected:
    ImageProcessorConfig read(const std::string& text, const std::string& model = vit,
                              const std::string& name = "preprocessor_config.json") {
        folder.write(name, text);
        return image_processor_config(folder.path(), config_of(model));
    }
    testing::TemporaryFolder folder;
};

TEST_F(ImageSettingsOfFolders, WithoutAFileTheModelSays) {
    const ImageProcessorConfig of_vit = image_processor_config(folder.path(), config_of(vit));
    EXPECT_EQ(of_vit.size.height, 96);
    EXPECT_EQ(of_vit.resampling, Resampling::Bilinear);
    EXPECT_FALSE(of_vit.crops);
    const ImageProcessorConfig of_siglip = image_processor_config(folder.path(), config_of(siglip));
    EXPECT_EQ(of_siglip.size.width, 64);
    EXPECT_EQ(of_siglip.resampling, Resampling::Bicubic);
    expect_error([&] { image_processor_config(folder.path(), config_of(R"({"model_type": "llama"})")); },
                 {"llama", "no images"});
}

TEST_F(ImageSettingsOfFolders, TheOldestStyle) {
    const ImageProcessorConfig of_vit =
        read(R"({"do_normalize": true, "do_resize": true, "feature_extractor_type": "ViTFeatureExtractor",
                 "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "resample": 2, "size": 224})");
    EXPECT_EQ(of_vit.size, (formats::ImageSize{.height = 224, .width = 224}));
    EXPECT_EQ(of_vit.resampling, Resampling::Bilinear);
    EXPECT_TRUE(of_vit.rescales);
    EXPECT_DOUBLE_EQ(of_vit.scale, 1 / 255.0);
    const ImageProcessorConfig of_clip =
        read(R"({"crop_size": 200, "do_center_crop": true, "feature_extractor_type": "CLIPFeatureExtractor",
                 "image_mean": [0.1, 0.2, 0.3], "image_std": [0.4, 0.5, 0.6], "resample": 3, "size": 224})");
    EXPECT_EQ(of_clip.size, (formats::ImageSize{.shortest_edge = 224}));
    EXPECT_EQ(of_clip.crop, (formats::ImageSize{.height = 200, .width = 200}));
    EXPECT_TRUE(of_clip.crops);
    EXPECT_EQ(of_clip.mean, (std::array{0.1, 0.2, 0.3}));
    EXPECT_EQ(of_clip.deviation, (std::array{0.4, 0.5, 0.6}));
}

TEST_F(ImageSettingsOfFolders, TheNewerStyles) {
    const ImageProcessorConfig of_clip =
        read(R"({"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 300},
                 "crop_size": {"height": 200, "width": 100}, "do_convert_rgb": true, "rescale_factor": 0.25})");
    EXPECT_EQ(of_clip.size.shortest_edge, 300);
    EXPECT_EQ(of_clip.crop, (formats::ImageSize{.height = 200, .width = 100}));
    EXPECT_EQ(of_clip.scale, 0.25);
    EXPECT_DOUBLE_EQ(of_clip.mean[0], 0.48145466);
    const std::string nested = R"({"image_processor": {"image_processor_type": "SiglipImageProcessorFast",
        "size": {"height": 32, "width": 48}, "resample": 1, "do_center_crop": null, "image_seq_length": 256},
        "processor_class": "PaliGemmaProcessor"})";
    const ImageProcessorConfig newest = read(nested, siglip, "processor_config.json");  // and it comes first
    EXPECT_EQ(newest.size, (formats::ImageSize{.height = 32, .width = 48}));
    EXPECT_EQ(newest.resampling, Resampling::Lanczos);
    EXPECT_FALSE(newest.crops);
    const ImageProcessorConfig beside = read(R"({"processor_class": "X"})", siglip, "processor_config.json");
    EXPECT_EQ(beside.size.shortest_edge, 300);
}

TEST_F(ImageSettingsOfFolders, ListsAndSingleNumbers) {
    const ImageProcessorConfig settings =
        read(R"({"image_processor_type": "DeiTImageProcessor", "size": [20, 30], "image_mean": 0.25})");
    EXPECT_EQ(settings.size, (formats::ImageSize{.height = 20, .width = 30}));
    EXPECT_TRUE(settings.crops);
    EXPECT_EQ(settings.mean, (std::array{0.25, 0.25, 0.25}));
    const ImageProcessorConfig nameless = read(R"({"do_rescale": false, "do_normalize": false, "do_resize": false})");
    EXPECT_EQ(nameless.resampling, Resampling::Bilinear);  // the model's own
    EXPECT_FALSE(nameless.rescales || nameless.normalises || nameless.resizes);
}

TEST_F(ImageSettingsOfFolders, WhatCannotBeFollowedIsRefused) {
    struct Bad {
        const char* text;
        std::string field, value;
    };
    const Bad list[] = {
        {R"({"image_processor_type": "OwlImageProcessor"})", "image_processor_type", "OwlImageProcessor"},
        {R"({"do_pan_and_scan": true})", "do_pan_and_scan", "not known"},
        {R"({"size": {"longest_edge": 9}})", "size", "shortest_edge"},
        {R"({"size": {"shortest_edge": 9, "longest_edge": 12}})", "size", "shortest_edge"},
        {R"({"size": 0})", "size", "0"},
        {R"({"size": 100000})", "size", "4096"},
        {R"({"size": [1]})", "size", "[height, width]"},
        {R"({"size": [1, -3]})", "size", "1 to 4096"},
        {R"({"size": "large"})", "size", "large"},
        {R"({"size": {"height": 1, "width": 5000}})", "size.width", "5000"},
        {R"({"do_center_crop": true, "crop_size": {"shortest_edge": 9}})", "crop_size", "height"},
        {R"({"image_mean": [0.5]})", "image_mean", "3 numbers"},
        {R"({"image_std": [0.5, 0, 0.5]})", "image_std", "0"},
        {R"({"resample": 9})", "resample", "9"},
        {R"({"resample": "bicubic"})", "resample", "bicubic"},
        {R"({"do_resize": 3})", "do_resize", "3"},
        {R"([1])", "", ""},
        {R"({)", "", ""},
    };
    for (const Bad& bad : list) {
        SCOPED_TRACE(bad.text);
        expect_error([&] { read(bad.text); }, {"preprocessor_config.json", bad.field, bad.value});
    }
}

// What is written for a model without a file is read as what the model says.
TEST_F(ImageSettingsOfFolders, WhatIsWrittenIsWhatTheModelSays) {
    const std::string grey = R"({"model_type": "vit", "image_size": 28, "patch_size": 7, "num_channels": 1})";
    const std::string paligemma = R"({"model_type": "paligemma", "text_config": {"hidden_size": 16},
        "vision_config": {"image_size": 112, "patch_size": 14}})";
    for (const std::string& model : {vit, grey, siglip, paligemma}) {
        const ImageProcessorConfig own = image_processor_config(folder / "nothing", config_of(model));
        ImageProcessorConfig again = read(image_processor_json(config_of(model)).dump(), model);
        EXPECT_FALSE(again.crops);
        again.crop = own.crop;  // of no meaning
        again.one_number_is_square = own.one_number_is_square;
        EXPECT_EQ(again, own) << model;
    }
    const formats::Json of_paligemma = image_processor_json(config_of(paligemma));
    EXPECT_EQ(of_paligemma.find("image_seq_length")->as_integer(), 64);
    EXPECT_EQ(of_paligemma.find("processor_class")->as_string(), "PaliGemmaProcessor");
    const formats::Json of_grey = image_processor_json(config_of(grey));
    EXPECT_EQ(of_grey.find("image_mean")->items().size(), 1u);
    EXPECT_TRUE(image_processor_json(config_of(R"({"model_type": "llama"})")).is_null());
}

TEST_F(ImageSettingsOfFolders, OneNumberIsEnoughForGrey) {
    const std::string one = R"({"image_mean": [0.1], "image_std": [0.3]})";
    EXPECT_EQ(read(one, R"({"model_type": "vit", "num_channels": 1})").mean[0], 0.1);
    expect_error([&] { read(one, vit); }, {"image_mean", "expected 3 numbers, found 1"});
}

}  // namespace
}  // namespace tessera::models
