// Masked language modelling (Devlin et al. 2018): a share of the tokens is to be predicted from all others. Of these,
// 80 % are replaced by the mask token, 10 % by a random one, and 10 % stay. With whole words, a word's tokens are
// chosen together.
#include "tessera/data/packed_windows.h"
#include "tessera/data/random_sequence.h"
#include "tessera/data/token_words.h"
#include "tessera/training/objectives/objective_parts.h"
#include "tessera/training/token_corpus.h"

namespace tessera::training {
namespace {

constexpr double masked_share = 0.8, random_share = 0.1;

class Masked final : public Objective {
   public:
    explicit Masked(const ObjectiveInputs& inputs)
        : words_(tokenizer_of(inputs)),
          windows_(tokenised(inputs), text_length(inputs)),
          share_(share_in(inputs.recipe, "data.mask", inputs.recipe.mask)),
          whole_words_(inputs.recipe.whole_words) {
        const tokenizers::Tokenizer& tokenizer = tokenizer_of(inputs);
        mask_ = mask_token(inputs);
        for (std::int64_t id = 0; id < tokenizer.size(); ++id)
            if (!words_.is_special(id)) plain_ids_.push_back(id);
        check(!plain_ids_.empty(), inputs.recipe.resolved.source(), ": tokenizer: all of its tokens are special");
    }

    std::int64_t examples() const override { return windows_.size(); }

    TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey key) const override {
        std::vector<std::int64_t> ids, labels;
        for (std::size_t row = 0; row < examples.size(); ++row) {
            data::RandomSequence draws(key.child(row));
            const tokenizers::Ids original = windows_.at(examples[row]).ids;
            for (std::size_t i = 0; const bool chosen : choose(original, draws)) {
                ids.push_back(chosen ? disguised(original[i], draws) : original[i]);
                labels.push_back(chosen ? original[i] : -100);
                ++i;
            }
        }
        const Shape shape{static_cast<std::int64_t>(examples.size()), windows_.length()};
        TrainingBatch result{.units = shape.elements(), .origin = origin_of("windows", examples)};
        result.inputs.input_ids = Tensor::from(ids, shape);
        result.inputs.labels = Tensor::from(labels, shape);
        return result;
    }

   private:
    // Each word (or token) with the same probability, and at least one of a row that has any.
    std::vector<bool> choose(const tokenizers::Ids& ids, data::RandomSequence& draws) const {
        std::vector<std::size_t> starts;
        if (whole_words_)
            starts = words_.starts(ids);
        else
            for (std::size_t i = 0; i < ids.size(); ++i) starts.push_back(i);
        std::erase_if(starts, [&](std::size_t start) { return words_.is_special(ids[start]); });
        std::vector<bool> chosen(ids.size(), false);
        const auto choose_word = [&](std::size_t start) {
            chosen[start] = true;
            for (std::size_t i = start + 1; whole_words_ && i < ids.size() && words_.joins(ids[i - 1], ids[i]); ++i)
                chosen[i] = true;
        };
        bool any = false;
        for (const std::size_t start : starts)
            if (draws.uniform() < share_) {
                choose_word(start);
                any = true;
            }
        if (!any && !starts.empty())
            choose_word(starts[static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(starts.size())))]);
        return chosen;
    }

    std::int64_t disguised(std::int64_t id, data::RandomSequence& draws) const {
        const double choice = draws.uniform();
        if (choice < masked_share) return mask_;
        if (choice >= masked_share + random_share) return id;
        return plain_ids_[static_cast<std::size_t>(draws.below(static_cast<std::int64_t>(plain_ids_.size())))];
    }

    data::TokenWords words_;
    data::PackedWindows windows_;
    double share_;
    bool whole_words_;
    std::int64_t mask_ = 0;
    std::vector<std::int64_t> plain_ids_;
};

std::unique_ptr<Objective> make(const ObjectiveInputs& inputs) { return std::make_unique<Masked>(inputs); }
const RegisterObjective registered{{.name = "masked",
                                    .make = make,
                                    .needs = models::Capability::Fill,
                                    .is_default = true,
                                    .next_command = "fill DIR \"…\"",
                                    .packs_windows = true}};

}  // namespace
}  // namespace tessera::training
