// The class of a text: JSON lines {"text": …, "label": …} or text, a tab and a label.
#include "tessera/data/labelled_texts.h"
#include "tessera/training/objectives/objective_parts.h"

namespace tessera::training {
namespace {

std::vector<std::filesystem::path> files_of(const std::vector<std::string>& data) {
    return data::files_ending(data, {".jsonl", ".ndjson", ".tsv"});
}

class Labels final : public Objective {
   public:
    explicit Labels(const ObjectiveInputs& inputs)
        : tokenizer_(inputs.tokenizer),
          field_(inputs.recipe.field),
          classes_(inputs, classes_taught(inputs.recipe), inputs.model.class_names),
          texts_(files_of(inputs.data), field_),
          length_(text_length(inputs)),
          padding_(padding_id(inputs)) {
        tokenizer_of(inputs);
    }

    std::int64_t examples() const override { return texts_.size(); }

    TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey) const override {
        std::vector<tokenizers::Ids> rows;
        std::vector<std::int64_t> labels;
        std::int64_t tokens = 0;
        for (const std::int64_t example : examples) {
            const data::LabelledTexts::Example line = texts_.at(example);
            rows.push_back(tokenizer_->encode_at_most(line.text, length_));
            check(!rows.back().empty(), texts_.where(example), ": the text has no token");
            labels.push_back(classes_.number(line.label, texts_.where(example)));
            tokens += static_cast<std::int64_t>(rows.back().size());
        }
        TrainingBatch result{.units = tokens, .origin = origin_of("lines", examples)};
        const PaddedRows padded = padded_rows(rows, padding_);
        result.inputs.input_ids = padded.ids;
        result.inputs.attention_mask = padded.mask;
        result.inputs.labels = Tensor::from(labels, {static_cast<std::int64_t>(labels.size())});
        return result;
    }

    Accuracy answers(const models::Model& model, const TrainingBatch& batch) const override {
        return highest_logits(model.forward(batch.inputs, batch.context), batch.inputs.labels);
    }
    std::vector<std::string> classes() const override { return classes_.names(); }

   private:
    std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
    std::string field_;
    ClassNames classes_;
    data::LabelledTexts texts_;
    std::int64_t length_, padding_;
};

std::unique_ptr<Objective> make(const ObjectiveInputs& inputs) { return std::make_unique<Labels>(inputs); }
std::vector<std::string> classes_in(const Recipe& recipe) {
    return data::LabelledTexts(files_of(recipe.train_data), recipe.field).labels();
}
const RegisterObjective registered{
    {.name = "labels",
     .make = make,
     .needs = models::Capability::ClassifyTexts,
     .is_default = true,
     .next_command = "classify DIR \"…\"",
     .classes = classes_in,
     .under_new_head = {models::Capability::LearnClasses, models::Capability::EmbedTexts},
     .reads_whole_texts = true,
     .recognises = data::are_labelled_texts}};

}  // namespace
}  // namespace tessera::training
