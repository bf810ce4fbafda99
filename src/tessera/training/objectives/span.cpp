// Span corruption (Raffel et al. 2020): spans of a text are taken out, each leaving a sentinel; the decoder writes each
// sentinel and what stood there.
//
//     Thank you for inviting me to your party last week
//     encoder: Thank you <extra_id_0> me to your party <extra_id_1> </s>
//     labels:  <extra_id_0> for inviting <extra_id_1> last week </s>
//
// A text begins with what stays and ends with what is taken out. All windows lose equally many tokens in equally many
// spans, so that nothing is padding.
#include <algorithm>
#include <cmath>

#include "tessera/data/packed_windows.h"
#include "tessera/data/random_sequence.h"
#include "tessera/training/objectives/objective_parts.h"
#include "tessera/training/token_corpus.h"

namespace tessera::training {
namespace {

// `total` as a sum of so many numbers from 1, each way equally probable.
std::vector<std::int64_t> parts_of(std::int64_t total, std::int64_t count, data::RandomSequence& draws) {
    std::vector<std::int64_t> parts;
    std::int64_t last = 0, cuts = count - 1;
    for (std::int64_t at = 1; at < total && cuts > 0; ++at) {
        if (draws.below(total - at) >= cuts) continue;
        parts.push_back(at - last);
        last = at;
        --cuts;
    }
    parts.push_back(total - last);
    return parts;
}

class Span final : public Objective {
   public:
    explicit Span(const ObjectiveInputs& inputs)
        : windows_(tokenised(inputs), text_length(inputs)), end_(end_token(tokenizer_of(inputs))) {
        const Recipe& recipe = inputs.recipe;
        check(windows_.length() >= 2, recipe.resolved.source(), ": data.length: a span and its surroundings need 2");
        const auto length = static_cast<double>(windows_.length());
        noise_ = std::clamp<std::int64_t>(std::llround(length * share_in(recipe, "data.noise", recipe.noise)), 1,
                                          windows_.length() - 1);
        const std::int64_t wanted = std::llround(static_cast<double>(noise_) / span_length(recipe));
        spans_ = std::clamp<std::int64_t>(wanted, 1, std::min(noise_, windows_.length() - noise_));
        for (std::int64_t i = 0; i < spans_; ++i) {
            const std::optional<std::int64_t> id = tokenizer_of(inputs).id(text_of("<extra_id_", i, ">"));
            check(id.has_value(), recipe.resolved.source(), ": tokenizer: ", spans_, " spans a sequence need tokens ",
                  "<extra_id_0> to <extra_id_", spans_ - 1, ">, and there is no <extra_id_", i, ">");
            sentinels_.push_back(*id);
        }
    }

    std::int64_t examples() const override { return windows_.size(); }

    TrainingBatch batch(const std::vector<std::int64_t>& examples, RandomKey key) const override {
        std::vector<tokenizers::Ids> sources, targets;
        for (std::size_t row = 0; row < examples.size(); ++row) {
            data::RandomSequence draws(key.child(row));
            const tokenizers::Ids ids = windows_.at(examples[row]).ids;
            const std::vector<std::int64_t> kept = parts_of(windows_.length() - noise_, spans_, draws);
            const std::vector<std::int64_t> taken = parts_of(noise_, spans_, draws);
            tokenizers::Ids &source = sources.emplace_back(), &target = targets.emplace_back();
            auto at = ids.begin();
            for (std::size_t span = 0; span < sentinels_.size(); ++span) {
                source.insert(source.end(), at, at + kept[span]);
                at += kept[span];
                source.push_back(sentinels_[span]);
                target.push_back(sentinels_[span]);
                target.insert(target.end(), at, at + taken[span]);
                at += taken[span];
            }
            if (end_) source.push_back(*end_);
            if (end_) target.push_back(*end_);
        }
        TrainingBatch result{.units = static_cast<std::int64_t>(examples.size()) * windows_.length(),
                             .origin = origin_of("windows", examples)};
        result.inputs.input_ids = padded_rows(sources, 0).ids;
        result.inputs.labels = padded_rows(targets, -100).ids;  // the model shifts them behind its start token
        return result;
    }

   private:
    data::PackedWindows windows_;
    std::optional<std::int64_t> end_;
    std::int64_t noise_ = 0, spans_ = 0;
    std::vector<std::int64_t> sentinels_;
};

constexpr std::int64_t most_sentinels = 100;  // as many as the published vocabularies have

std::unique_ptr<Objective> make(const ObjectiveInputs& inputs) { return std::make_unique<Span>(inputs); }
const RegisterObjective registered{{.name = "span",
                                    .make = make,
                                    .needs = models::Capability::EncodeDecode,
                                    .next_command = "generate DIR \"…\"",
                                    .sentinels = most_sentinels,
                                    .packs_windows = true}};

}  // namespace
}  // namespace tessera::training
