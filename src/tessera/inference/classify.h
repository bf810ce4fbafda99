// Classification of images and texts: the classes a model was trained on, or for images any labels put
// to the model as texts (zero-shot).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tessera/formats/image/image.h"
#include "tessera/inference/read_texts.h"
#include "tessera/models/opened_model.h"

namespace tessera::inference {

struct LabelScore {
    std::string label;
    double probability = 0;
    double score = 0;  // before it was made a probability
};
// Every label, by falling probability.
using LabelScores = std::vector<LabelScore>;

struct ClassifiedText {
    LabelScores labels;
    ReadText read;
};

// For a model that compares images with texts.
struct ZeroShotLabels {
    std::vector<std::string> labels = {};
    std::string sentence = "This is a photo of {}.";  // what a label is put into
};

// For each image every label. Classes exclude each other (softmax) unless the model was trained otherwise; each of the
// labels of zero-shot is a question of its own (sigmoid).
std::vector<LabelScores> classify_images(const models::OpenedModel& model, std::span<const formats::Image> images,
                                         const ZeroShotLabels& zero_shot = {});
// For each text every class. A text longer than the model's context loses its end, and the answer says so.
std::vector<ClassifiedText> classify_texts(const models::OpenedModel& model, const std::vector<std::string>& texts);

}  // namespace tessera::inference
