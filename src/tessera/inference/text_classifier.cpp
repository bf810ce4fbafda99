#include "tessera/inference/text_classifier.h"

#include "tessera/inference/generator.h"
#include "tessera/models/catalog.h"
#include "tessera/models/class_names.h"
#include "tessera/models/encoder.h"
#include "tessera/tensor/tape.h"

namespace tessera::inference {

namespace {

namespace fs = std::filesystem;

// Told by config.json, before anything large is read.
TextModel open_classifier(const fs::path& folder, Device device) {
    const models::Config config = models::config_named(folder.string());
    check(models::read_text_classes(config) > 0, folder.string(), ": a model of type ", config.text("model_type", "?"),
          " that is not …ForSequenceClassification has no classes of texts");
    TextModel model = open_text_model(folder, {}, device, NeedsTokenizer::Yes);
    check(dynamic_cast<const models::Encoder*>(model.model.get()) != nullptr, folder.string(), ": a model of type ",
          config.text("model_type", "?"), " has no classes of texts");
    return model;
}

}  // namespace

TextClassifier::TextClassifier(const fs::path& folder, Device device)
    : model_(open_classifier(folder, device)),
      labels_(models::read_class_names(model_.config, models::read_class_count(model_.config))) {}

std::vector<std::vector<LabelScore>> TextClassifier::classify(const std::vector<std::string>& texts) const {
    const NoGrad no_grad;
    const std::int64_t longest = model_.model->longest_text();
    std::vector<tokenizers::Ids> rows;
    for (const std::string& text : texts) {
        rows.push_back(model_.text().encode_at_most(text, longest));
        check(!rows.back().empty(), "text ", rows.size(), " has no tokens");
    }
    models::Batch batch = batch_of(rows, model_.settings.padding.value_or(0), Side::Right);
    batch.input_ids = batch.input_ids.to(model_.device);
    batch.attention_mask = batch.attention_mask.to(model_.device);
    const std::vector<double> logits = model_.model->forward(batch).to_vector<double>();
    std::vector<std::vector<LabelScore>> answers;
    for (std::size_t i = 0; i < texts.size(); ++i)
        answers.push_back(ranked_labels(labels_, std::span(logits).subspan(i * labels_.size(), labels_.size()),
                                        classes_exclude(model_.config, labels_.size())));
    return answers;
}

}  // namespace tessera::inference
