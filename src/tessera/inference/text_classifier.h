// What kind of text a text is: the classes that an encoder with a classifier was trained on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tessera/inference/label_scores.h"
#include "tessera/inference/text_model.h"

namespace tessera::inference {

class TextClassifier {
   public:
    explicit TextClassifier(const std::filesystem::path& folder, Device device = cpu);

    // For each text every class. A text longer than the model's positions loses its end.
    std::vector<std::vector<LabelScore>> classify(const std::vector<std::string>& texts) const;

   private:
    TextModel model_;
    std::vector<std::string> labels_;
};

}  // namespace tessera::inference
