// Causal language modelling: every token from those before it, in packed windows without attention across documents.
#include "tessera/core/error.h"
#include "tessera/data/packed_windows.h"
#include "tessera/training/objectives/objective_parts.h"
#include "tessera/training/token_corpus.h"

namespace tessera::training {
namespace {

class Causal final : public Objective {
   public:
    explicit Causal(const ObjectiveInputs& inputs) : windows_(tokenised(inputs), text_length(inputs)) {
        if (windows_.length() < 2)
            inputs.recipe.resolved.reject("data.length",
                                          text_of("expected at least 2, found ", windows_.length(),
                                                  ": each token is predicted from those before it in its window"));
    }

    std::int64_t examples() const override { return windows_.size(); }

    TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey) const override {
        const std::int64_t rows = static_cast<std::int64_t>(examples.size()), length = windows_.length();
        std::vector<std::int64_t> ids, starts, positions, labels;
        bool packed = false;
        for (const std::int64_t example : examples) {
            const data::Window window = windows_.at(example);
            ids.insert(ids.end(), window.ids.begin(), window.ids.end());
            for (std::int64_t i = 0; i < length; ++i) {
                const std::int64_t start = window.document_starts[static_cast<std::size_t>(i)];
                // Nothing predicts a window's first token, and no document the next one's.
                labels.push_back(start == i ? -100 : window.ids[static_cast<std::size_t>(i)]);
                starts.push_back(start);
                positions.push_back(i - start);
                packed = packed || start > 0;
            }
        }
        TrainingBatch result{.units = rows * length, .origin = origin_of(examples)};
        result.inputs.input_ids = Tensor::from(ids, {rows, length});
        result.inputs.labels = Tensor::from(labels, {rows, length});
        if (packed) {
            result.context.mask.first_keys = Tensor::from(starts, {rows, length});
            result.context.positions = Tensor::from(positions, {rows, length});
        }
        return result;
    }

   private:
    std::string origin_of(const std::vector<std::int64_t>& examples) const {
        std::string text = "tokens from";
        for (const std::int64_t example : examples) text += text_of(" ", example * windows_.length());
        return text;
    }

    data::PackedWindows windows_;
};

std::unique_ptr<Objective> make(const ObjectiveInputs& inputs) { return std::make_unique<Causal>(inputs); }
const RegisterObjective registered{{.name = "causal",
                                    .make = make,
                                    .needs = models::Capability::Score,
                                    .is_default = true,
                                    .metrics = {Metric::Perplexity},
                                    .next_command = "generate DIR \"…\"",
                                    .packs_windows = true}};

}  // namespace
}  // namespace tessera::training
