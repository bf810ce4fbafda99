#include "tessera/inference/classify.h"

#include <algorithm>
#include <cmath>

#include "tessera/data/image_processor.h"
#include "tessera/inference/generator.h"
#include "tessera/models/catalog.h"
#include "tessera/models/encoder.h"
#include "tessera/models/vision/vision.h"
#include "tessera/tensor/tape.h"

namespace tessera::inference {
namespace {

using models::OpenedModel;

constexpr std::string_view blank = "{}";

// `exclusive`: one label alone is right (softmax); else each is a question of its own (sigmoid).
LabelScores ranked_labels(const std::vector<std::string>& labels, std::span<const double> logits, bool exclusive) {
    const double highest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    LabelScores answer;
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

// The logits (rows, labels), a row at a time.
std::vector<LabelScores> ranked_rows(const std::vector<std::string>& labels, const Tensor& logits, bool exclusive) {
    check(logits.rank() == 2 && logits.size(1) == static_cast<std::int64_t>(labels.size()),
          "the model gives logits of shape ", logits.shape(), " for ", labels.size(), " labels");
    const std::vector<double> all = logits.to_vector<double>();
    std::vector<LabelScores> answers;
    for (std::size_t row = 0; row < static_cast<std::size_t>(logits.size(0)); ++row)
        answers.push_back(ranked_labels(labels, std::span(all).subspan(row * labels.size(), labels.size()), exclusive));
    return answers;
}

// Several classes exclude each other, unless config.json's problem_type says otherwise.
bool classes_exclude(const OpenedModel& model) {
    return model.labels.size() > 1 && model.config.text("problem_type", "") != "multi_label_classification";
}

std::vector<std::string> sentences_of(const ZeroShotLabels& zero_shot) {
    check(zero_shot.sentence.find(blank) != std::string::npos, "'", zero_shot.sentence,
          "' has no place ({}) for a label");
    std::vector<std::string> sentences;
    for (const std::string& label : zero_shot.labels) {
        std::string sentence = zero_shot.sentence;
        sentences.push_back(sentence.replace(sentence.find(blank), blank.size(), label));
    }
    return sentences;
}

Tensor table_of(const std::vector<tokenizers::Ids>& rows) {
    std::vector<std::int64_t> ids;
    for (const tokenizers::Ids& row : rows) ids.insert(ids.end(), row.begin(), row.end());
    return Tensor::from(ids, {static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size())});
}

Tensor label_texts(const OpenedModel& model, const models::Vision& vision, const ZeroShotLabels& zero_shot) {
    const tokenizers::Tokenizer& tokenizer = model.text();
    const std::filesystem::path& place = model.sidecar_files.tokenizer;
    return table_of(vision.texts(model.config, std::filesystem::is_directory(place) ? place : model.path, tokenizer,
                                 sentences_of(zero_shot)));
}

}  // namespace

std::vector<LabelScores> classify_images(const OpenedModel& model, std::span<const formats::Image> images,
                                         const ZeroShotLabels& zero_shot) {
    const NoGrad no_grad;
    const std::string type = text_of(model.path.string(), ": a model of type ", model.config.text("model_type"));
    const formats::ImageProcessorConfig& settings = model.images();
    const models::Vision& vision = *models::architecture_of(model.config).vision;
    models::Batch batch;
    if (vision.texts != nullptr) {
        check(!zero_shot.labels.empty(), type, " compares images with texts: it needs labels");
        batch.input_ids = label_texts(model, vision, zero_shot).to(model.device);
    } else {
        check(vision.classes != nullptr, type, " does not classify images");
        check(zero_shot.labels.empty(), type, " has classes of its own and takes no labels");
        check(!model.labels.empty(), model.path.string(), ": the checkpoint has no classifier");
    }
    batch.pixel_values = data::pixel_values(images, settings).to(model.device);
    const Tensor logits = model.model->forward(batch);
    return vision.texts != nullptr ? ranked_rows(zero_shot.labels, logits, false)
                                   : ranked_rows(model.labels, logits, classes_exclude(model));
}

std::vector<ClassifiedText> classify_texts(const OpenedModel& model, const std::vector<std::string>& texts) {
    const NoGrad no_grad;
    const std::string type = text_of(model.path.string(), ": a model of type ", model.config.text("model_type", "?"));
    check(models::read_text_classes(model.config) > 0, type,
          " that is not …ForSequenceClassification has no classes of texts");
    check(dynamic_cast<const models::Encoder*>(model.model.get()) != nullptr, type, " has no classes of texts");
    const ReadTexts rows = read_texts(model, texts, model.model->context_length());
    models::Batch batch = batch_of(rows.ids, model.settings.padding.value_or(0), Side::Right);
    batch.input_ids = batch.input_ids.to(model.device);
    batch.attention_mask = batch.attention_mask.to(model.device);
    std::vector<ClassifiedText> answers;
    for (LabelScores& labels : ranked_rows(model.labels, model.model->forward(batch), classes_exclude(model)))
        answers.push_back({std::move(labels), rows.read[answers.size()]});
    return answers;
}

}  // namespace tessera::inference
