// Pairs of texts, such as a sentence and its translation: the encoder reads the first, the decoder writes the second.
#include "tessera/data/text_pairs.h"
#include "tessera/training/objectives/objective_parts.h"

namespace tessera::training {
namespace {

using tokenizers::Ids;

class Pairs final : public Objective {
   public:
    explicit Pairs(const ObjectiveInputs& inputs)
        : tokenizer_(inputs.tokenizer),
          pairs_(data::files_ending(inputs.data, {".tsv", ".txt"})),
          length_(text_length(inputs)),
          padding_(padding_id(inputs)) {
        tokenizer_of(inputs);
    }

    std::int64_t examples() const override { return pairs_.size(); }

    TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey) const override {
        std::vector<Ids> sources, targets;
        std::int64_t tokens = 0;
        for (const std::int64_t example : examples) {
            const data::TextPair pair = pairs_.at(example);
            sources.push_back(tokenizer_->encode_at_most(pair.source, length_));  // as it is read when translating
            if (sources.back().empty()) sources.back().push_back(padding_);
            targets.push_back(ended(pair.target));
            tokens += static_cast<std::int64_t>(sources.back().size() + targets.back().size());
        }
        TrainingBatch result{.units = tokens, .origin = origin_of("pairs", examples)};
        const PaddedRows source = padded_rows(sources, padding_);
        result.inputs.input_ids = source.ids;
        result.inputs.attention_mask = source.mask;
        // The model shifts them behind its start token. Padding stands behind all that is learned, where a decoder that
        // looks back does not see it.
        result.inputs.labels = padded_rows(targets, -100).ids;
        return result;
    }

    // A text whose every token is the likeliest one after those before it is the text that greedy decoding writes.
    Accuracy answers(const models::Model& model, const TrainingBatch& batch) const override {
        return highest_logits(model.forward(batch.inputs, batch.context), batch.inputs.labels);
    }

   private:
    // At most `length` tokens, the last of them the end of the text where the tokenizer has one.
    Ids ended(std::string_view text) const {
        Ids ids = tokenizer_->encode_at_most(text, length_);
        const std::optional<std::int64_t> end = end_token(*tokenizer_);
        if (!end || (!ids.empty() && (ids.back() == *end || ids.back() == tokenizer_->special.separator))) return ids;
        if (static_cast<std::int64_t>(ids.size()) >= length_) ids.resize(static_cast<std::size_t>(length_ - 1));
        ids.push_back(*end);
        return ids;
    }

    std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
    data::TextPairs pairs_;
    std::int64_t length_, padding_;
};

std::unique_ptr<Objective> make(const ObjectiveInputs& inputs) { return std::make_unique<Pairs>(inputs); }
const RegisterObjective registered{{.name = "pairs",
                                    .make = make,
                                    .needs = models::Capability::EncodeDecode,
                                    .is_default = true,
                                    .metrics = {Metric::Bleu},
                                    .next_command = "translate DIR \"…\""}};

}  // namespace
}  // namespace tessera::training
