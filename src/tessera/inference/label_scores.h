// What a classifier answers: every label with its score, by falling probability.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tessera/formats/config.h"

namespace tessera::inference {

struct LabelScore {
    std::string label;
    double probability = 0;
    double score = 0;  // before it was made a probability
};

// `exclusive`: one label alone is right (softmax); else each is a question of its own (sigmoid).
std::vector<LabelScore> ranked_labels(const std::vector<std::string>& labels, std::span<const double> logits,
                                      bool exclusive);
// Whether the classes of a model exclude each other: several do, unless config.json's problem_type says otherwise.
bool classes_exclude(const formats::Config& config, std::size_t classes);

}  // namespace tessera::inference
