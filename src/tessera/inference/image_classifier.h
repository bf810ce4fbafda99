// What an image shows: the classes a model was trained on, or any labels put to it as texts (zero-shot).
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/formats/image/image.h"
#include "tessera/formats/image/image_processor_config.h"
#include "tessera/inference/label_scores.h"
#include "tessera/models/model.h"

namespace tessera::inference {

struct ClassifierOptions {
    std::vector<std::string> labels = {};             // for a model that compares images with texts
    std::string sentence = "This is a photo of {}.";  // what a label is put into
    Device device = cpu;
};

class ImageClassifier {
   public:
    ImageClassifier(const std::filesystem::path& folder, const ClassifierOptions& options);

    // For each image every label, by falling probability. Classes exclude each other (softmax) unless the model was
    // trained otherwise; each text is a question of its own (sigmoid).
    std::vector<std::vector<LabelScore>> classify(std::span<const formats::Image> images) const;

   private:
    std::unique_ptr<models::Model> model_;
    formats::ImageProcessorConfig settings_;
    std::vector<std::string> labels_;
    Tensor texts_;  // (labels, T), of a model that compares
    bool exclusive_ = true;
    Device device_;
};

}  // namespace tessera::inference
