// Denoising (Lewis et al. 2019): the encoder reads a text whose sentences are out of order and whose spans, of Poisson
// length, are each one mask token (none at all for a length of 0: then a mask is put in); the decoder writes the text
// as it was. Special tokens stay where they are.
#include <algorithm>
#include <cmath>

#include "tessera/data/packed_windows.h"
#include "tessera/data/random_sequence.h"
#include "tessera/data/token_words.h"
#include "tessera/training/objectives/objective_parts.h"
#include "tessera/training/token_corpus.h"

namespace tessera::training {
namespace {

using tokenizers::Ids;

class Denoise final : public Objective {
   public:
    explicit Denoise(const ObjectiveInputs& inputs)
        : tokenizer_(inputs.tokenizer),
          words_(tokenizer_of(inputs)),
          windows_(tokenised(inputs), text_length(inputs)),
          share_(share_in(inputs.recipe, "data.noise", inputs.recipe.noise)),
          span_(span_length(inputs.recipe)),
          permutes_(inputs.recipe.permute),
          padding_(padding_id(inputs)) {
        mask_ = mask_token(inputs);
        for (std::int64_t id = 0; id < tokenizer_->size(); ++id)
            ends_sentence_.push_back(!words_.is_special(id) && ends_in_full_stop(tokenizer_->token(id)));
    }

    std::int64_t examples() const override { return windows_.size(); }

    TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey key) const override {
        std::vector<Ids> sources, targets;
        for (std::size_t row = 0; row < examples.size(); ++row) {
            data::RandomSequence draws(key.child(row));
            targets.push_back(windows_.at(examples[row]).ids);
            sources.push_back(infilled(permutes_ ? permuted(targets.back(), draws) : targets.back(), draws));
        }
        TrainingBatch result{.units = static_cast<std::int64_t>(examples.size()) * windows_.length(),
                             .origin = origin_of("windows", examples)};
        const PaddedRows source = padded_rows(sources, padding_);
        result.inputs.input_ids = source.ids;
        result.inputs.attention_mask = source.mask;
        result.inputs.labels = padded_rows(targets, -100).ids;  // the model shifts them behind its start token
        return result;
    }

   private:
    static bool ends_in_full_stop(const std::string& token) {
        return !token.empty() && std::string(".!?").find(token.back()) != std::string::npos;
    }

    // Sentences change places with sentences. What stands behind the last full stop is one too.
    Ids permuted(const Ids& ids, data::RandomSequence& draws) const {
        std::vector<Ids> pieces;
        std::vector<std::size_t> places;  // of sentences among the pieces
        bool open = false;
        for (const std::int64_t id : ids) {
            const bool special = words_.is_special(id);
            if (!open || special) {
                if (!special) places.push_back(pieces.size());
                pieces.emplace_back();
            }
            pieces.back().push_back(id);
            open = !special && !ends_sentence_[static_cast<std::size_t>(id)];
        }
        std::vector<std::size_t> order = places;
        draws.shuffle(order);
        std::vector<Ids> moved = pieces;
        for (std::size_t i = 0; i < places.size(); ++i) moved[places[i]] = pieces[order[i]];
        Ids all;
        for (const Ids& piece : moved) all.insert(all.end(), piece.begin(), piece.end());
        return all;
    }

    // Lengths that add up to `budget`; no more of them than that, so that a text never grows.
    std::vector<std::int64_t> lengths_of(std::int64_t budget, data::RandomSequence& draws) const {
        std::vector<std::int64_t> lengths;
        std::int64_t left = budget;
        while (left > 0) {
            std::int64_t length = std::min(draws.poisson(span_), left);
            const bool last = static_cast<std::int64_t>(lengths.size()) + 1 >= budget;
            if (last) length = left;
            lengths.push_back(length);
            left -= length;
        }
        return lengths;
    }

    Ids infilled(const Ids& ids, data::RandomSequence& draws) const {
        const auto plain =
            std::count_if(ids.begin(), ids.end(), [&](std::int64_t id) { return !words_.is_special(id); });
        if (plain == 0) return ids;
        const std::int64_t budget =
            std::clamp<std::int64_t>(std::llround(share_ * static_cast<double>(plain)), 1, plain);
        const std::vector<std::int64_t> lengths = lengths_of(budget, draws);
        // Where each span stands: behind so many of the tokens that stay.
        std::vector<std::int64_t> gaps;
        for (std::size_t i = 0; i < lengths.size(); ++i) gaps.push_back(draws.below(plain - budget + 1));
        std::sort(gaps.begin(), gaps.end());
        Ids out;
        std::int64_t stayed = 0, taken = 0;
        std::size_t span = 0;
        for (const std::int64_t id : ids) {
            if (words_.is_special(id)) {
                out.push_back(id);
                continue;
            }
            while (taken == 0 && span < gaps.size() && gaps[span] == stayed) {
                out.push_back(mask_);
                taken = lengths[span++];
            }
            if (taken > 0) {
                --taken;
                continue;
            }
            out.push_back(id);
            ++stayed;
        }
        for (; span < gaps.size(); ++span) out.push_back(mask_);  // of length 0, behind everything
        return out;
    }

    std::shared_ptr<const tokenizers::Tokenizer> tokenizer_;
    data::TokenWords words_;
    data::PackedWindows windows_;
    double share_, span_;
    bool permutes_;
    std::int64_t padding_, mask_ = 0;
    std::vector<bool> ends_sentence_;
};

std::unique_ptr<Objective> make(const ObjectiveInputs& inputs) { return std::make_unique<Denoise>(inputs); }
const RegisterObjective registered{{.name = "denoise",
                                    .make = make,
                                    .needs = models::Capability::EncodeDecode,
                                    .next_command = "generate DIR \"…\"",
                                    .packs_windows = true}};

}  // namespace
}  // namespace tessera::training
