#include "tessera/inference/image_classifier.h"

#include "tessera/data/image_processor.h"
#include "tessera/formats/find_file.h"
#include "tessera/models/catalog.h"
#include "tessera/models/vision/vision.h"
#include "tessera/nn/module.h"
#include "tessera/tensor/tape.h"

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

}  // namespace

ImageClassifier::ImageClassifier(const std::filesystem::path& folder, const ClassifierOptions& options)
    : device_(options.device) {
    formats::check_exists(folder);
    const models::Config config = models::config_named(folder.string());
    const models::Architecture& architecture = models::architecture_of(config);
    settings_ = models::image_processor_config(folder, config);
    if (architecture.vision->texts != nullptr) {
        check(!options.labels.empty(), folder.string(), ": a model of type ", architecture.model_type,
              " compares images with texts: it needs labels");
        labels_ = options.labels;
        const auto tokenizer = tokenizers::open_tokenizer(folder);
        texts_ = table_of(architecture.vision->texts(config, folder, *tokenizer, sentences_of(options))).to(device_);
        exclusive_ = false;
    } else {
        check(architecture.vision->classes != nullptr, folder.string(), ": a model of type ", architecture.model_type,
              " does not classify images");
        check(options.labels.empty(), folder.string(), ": a model of type ", architecture.model_type,
              " has classes of its own and takes no labels");
        labels_ = architecture.vision->classes(config);
        check(!labels_.empty(), folder.string(), ": the checkpoint has no classifier");
        exclusive_ = classes_exclude(config, labels_.size());
    }
    model_ = models::load(folder);
    if (device_ != cpu) nn::move_to(*model_, device_);
}

std::vector<std::vector<LabelScore>> ImageClassifier::classify(std::span<const formats::Image> images) const {
    const NoGrad no_grad;
    const Tensor logits =
        model_->forward({.input_ids = texts_, .pixel_values = data::pixel_values(images, settings_).to(device_)});
    check(logits.size(1) == static_cast<std::int64_t>(labels_.size()), "the model gives ", logits.size(1),
          " logits an image for ", labels_.size(), " labels");
    const std::vector<double> all = logits.to_vector<double>();
    std::vector<std::vector<LabelScore>> answers;
    for (std::size_t i = 0; i < images.size(); ++i)
        answers.push_back(
            ranked_labels(labels_, std::span(all).subspan(i * labels_.size(), labels_.size()), exclusive_));
    return answers;
}

}  // namespace tessera::inference
