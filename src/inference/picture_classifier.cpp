#include "inference/picture_classifier.h"

#include <algorithm>
#include <cmath>

#include "data/picture_processor.h"
#include "models/catalog.h"
#include "models/vision.h"
#include "nn/module.h"
#include "tensor/tape.h"

namespace tessera::inference {
namespace {

constexpr std::string_view blank = "{}";

std::vector<std::string> sentences_of(const ClassifierOptions& options) {
    check(options.sentence.find(blank) != std::string::npos, "'", options.sentence, "' has no place ({}) for a label");
    std::vector<std::string> sentences;
    for (const std::string& label : options.labels) {
        std::string sentence = options.sentence;
        sentences.push_back(sentence.replace(sentence.find(blank), blank.size(), label));
    }
    return sentences;
}

Tensor table_of(const std::vector<tokenizers::Ids>& rows) {
    std::vector<std::int64_t> ids;
    for (const tokenizers::Ids& row : rows) ids.insert(ids.end(), row.begin(), row.end());
    return Tensor::from(ids, {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size())});
}

std::vector<double> probabilities_of(std::span<const double> scores, bool exclusive) {
    std::vector<double> probabilities;
    const double highest = *std::max_element(scores.begin(), scores.end());
    double sum = 0;
    for (const double score : scores) {
        probabilities.push_back(exclusive ? std::exp(score - highest) : 1 / (1 + std::exp(-score)));
        sum += probabilities.back();
    }
    for (double& probability : probabilities) probability /= exclusive ? sum : 1;
    return probabilities;
}

}  // namespace

PictureClassifier::PictureClassifier(const std::filesystem::path& folder, const ClassifierOptions& options)
    : device_(options.device) {
    const formats::Checkpoint checkpoint = models::open(folder);
    const models::Config& config = checkpoint.config;
    const models::Architecture& architecture = models::architecture_of(config);
    settings_ = models::picture_settings(folder, config);
    if (architecture.vision->texts != nullptr) {
        check(!options.labels.empty(), folder.string(), ": a model of type ", architecture.model_type,
              " compares pictures with texts: it needs labels");
        labels_ = options.labels;
        const auto tokenizer = tokenizers::open_tokenizer(folder);
        texts_ = table_of(architecture.vision->texts(config, folder, *tokenizer, sentences_of(options))).to(device_);
        exclusive_ = false;
    } else {
        check(architecture.vision->classes != nullptr, folder.string(), ": a model of type ", architecture.model_type,
              " does not classify pictures");
        check(options.labels.empty(), folder.string(), ": a model of type ", architecture.model_type,
              " has classes of its own and takes no labels");
        labels_ = architecture.vision->classes(config);
        check(!labels_.empty(), folder.string(), ": the checkpoint has no classifier");
        exclusive_ = labels_.size() > 1 && config.text("problem_type", "") != "multi_label_classification";
    }
    model_ = models::load(checkpoint);
    if (device_ != cpu) nn::move_to(*model_, device_);
}

std::vector<std::vector<LabelScore>> PictureClassifier::classify(std::span<const formats::Image> pictures) const {
    const NoGrad no_grad;
    const Tensor scores =
        model_->forward({.input_ids = texts_, .pixel_values = data::pixel_values(pictures, settings_).to(device_)});
    check(scores.size(1) == static_cast<std::int64_t>(labels_.size()), "the model gives ", scores.size(1),
          " scores a picture for ", labels_.size(), " labels");
    const std::vector<double> all = scores.to_vector<double>();
    std::vector<std::vector<LabelScore>> answers;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        const std::span<const double> own = std::span(all).subspan(i * labels_.size(), labels_.size());
        const std::vector<double> probabilities = probabilities_of(own, exclusive_);
        std::vector<LabelScore>& answer = answers.emplace_back();
        for (std::size_t k = 0; k < labels_.size(); ++k) answer.push_back({labels_[k], probabilities[k], own[k]});
        std::stable_sort(answer.begin(), answer.end(),
                         [](const LabelScore& a, const LabelScore& b) { return a.score > b.score; });
    }
    return answers;
}

}  // namespace tessera::inference
