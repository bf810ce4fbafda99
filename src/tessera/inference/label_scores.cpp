#include "tessera/inference/label_scores.h"

#include <algorithm>
#include <cmath>

namespace tessera::inference {

std::vector<LabelScore> ranked_labels(const std::vector<std::string>& labels, std::span<const double> logits,
                                      bool exclusive) {
    const double highest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    std::vector<LabelScore> answer;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const double probability = exclusive ? std::exp(logits[i] - highest) : 1 / (1 + std::exp(-logits[i]));
        answer.push_back({labels[i], probability, logits[i]});
        sum += probability;
    }
    if (exclusive)
        for (LabelScore& one : answer) one.probability /= sum;
    std::stable_sort(answer.begin(), answer.end(),
                     [](const LabelScore& a, const LabelScore& b) { return a.score > b.score; });
    return answer;
}

bool classes_exclude(const formats::Config& config, std::size_t classes) {
    return classes > 1 && config.text("problem_type", "") != "multi_label_classification";
}

}  // namespace tessera::inference
