#include "tessera/training/run/counting.h"

#include <algorithm>
#include <limits>

#include "tessera/core/error.h"
#include "tessera/core/interruption.h"
#include "tessera/formats/output_folder.h"
#include "tessera/models/count_trainable.h"
#include "tessera/plots/loss_plot.h"
#include "tessera/training/objectives/registration.h"
#include "tessera/training/run/initial_model.h"
#include "tessera/training/run/metrics.h"
#include "tessera/training/run/run_folder.h"
#include "tessera/training/token_corpus.h"

namespace tessera::training {
namespace {

class Counting {
   public:
    Counting(const Recipe& recipe, const SessionOptions& options, const SessionEvents& events)
        : recipe_(recipe),
          options_(options),
          events_(events),
          folder_(options.folder, folder_options(recipe, options)) {
        if (folder_.newest_checkpoint())
            throw formats::FolderNotEmpty(text_of(
                folder_.path().string(), ": holds an earlier run's checkpoints, which counting does not go on from"));
        start_ = initial_model(recipe, {.device = options.device,
                                        .tokenizer_dir = folder_.cache(),
                                        .on_preparation = [this](const std::string& what, double done, double total) {
                                            prepare(what, done, total);
                                        }});
        refuse_what_does_not_count();
        countable_ = &dynamic_cast<models::CountTrainable&>(*start_.model);
    }

    SessionResult run() {
        recipe_.resolved.json().write(folder_.path() / "recipe.json");
        const ObjectiveInputs inputs = inputs_for(recipe_.train_data);
        const std::unique_ptr<Objective> seen = make_objective(inputs);
        if (!recipe_.validation_data.empty()) validation_ = make_objective(inputs_for(recipe_.validation_data));
        start_.keep_sidecar_files(folder_.cache() / sidecar_folder);
        metrics_ = std::make_unique<Metrics>(folder_.metrics(), 0);
        count(tokenised(inputs));
        SessionResult result{.steps = steps_, .validation_loss = std::numeric_limits<double>::quiet_NaN()};
        countable_->estimate();
        if (validation_) result.validation_loss = evaluate();
        result.loss = evaluation_of(*seen).loss;
        plots::write_loss_plot(folder_.path() / "loss.svg", metrics_->history(), options_.folder.filename().string());
        folder_.begin();
        folder_.save_result([&](const std::filesystem::path& folder) { start_.save(folder); });
        return result;
    }

   private:
    void refuse_what_does_not_count() const {
        const formats::Config& recipe = recipe_.resolved;
        if (!start_.model->can(models::Capability::Count))
            recipe.reject("optimizer.name", start_.model->cannot(models::Capability::Count));
        if (objective_of(recipe_).needs != models::Capability::Score)
            recipe.reject("objective", text_of("counting teaches to score texts, not ", recipe_.objective));
        if (recipe_.save_every > 0)
            recipe.reject("save.every", "counting takes one pass and saves its result; it has no checkpoints");
        if (recipe_.epochs) recipe.reject("epochs", "counting takes one pass over its data");
        if (recipe_.held_out > 0) recipe.reject("data.held_out", "counting takes in all of its data");
        if (recipe_.lora) recipe.reject("lora.rank", "counting learns no adapters");
    }

    ObjectiveInputs inputs_for(const std::vector<std::string>& data) const {
        ObjectiveInputs inputs{.recipe = recipe_, .model = *start_.model, .tokenizer = start_.tokenizer, .data = data};
        inputs.cache = folder_.cache();
        inputs.on_progress = [this](double done, double total) { prepare("tokens", done, total); };
        return inputs;
    }

    // A pass that is given up leaves nothing.
    void prepare(const std::string& what, double done, double total) const {
        stop_if_asked();
        if (events_.on_preparation) events_.on_preparation(what, done, total);
    }

    // Every document from its beginning, in pieces that end with a step or with the document.
    void count(const data::TokenFile& file) {
        const auto tokens = file.tokens();
        const auto step = static_cast<std::uint64_t>(recipe_.batch * recipe_.accumulate * recipe_.length);
        std::uint64_t at = 0, next_step = step;
        for (const std::uint64_t end : file.document_ends())
            for (bool begins = true; at < end; begins = false) {
                const std::uint64_t stop = std::min(end, next_step);
                const auto piece = tokens.subspan(at, stop - at);
                countable_->count(std::vector<std::int64_t>(piece.begin(), piece.end()), begins);
                at = stop;
                if (at != next_step && at != tokens.size()) continue;
                next_step += step;
                ++steps_;
                prepare("counting", static_cast<double>(at), static_cast<double>(tokens.size()));
                const bool is_due = recipe_.evaluate_every > 0 && steps_ % recipe_.evaluate_every == 0;
                if (!is_due || !validation_ || at == tokens.size()) continue;
                countable_->estimate();
                evaluate();
            }
    }

    Evaluation evaluation_of(const Objective& objective) const {
        return training::evaluate(
            *start_.model, objective, recipe_,
            {.device = options_.device, .most_examples = recipe_.evaluate_batches * recipe_.batch});
    }

    double evaluate() {
        const Evaluation found = evaluation_of(*validation_);
        metrics_->add_validation(steps_, found);
        if (events_.on_validation) events_.on_validation(steps_, found);
        return found.loss;
    }

    const Recipe& recipe_;
    SessionOptions options_;
    const SessionEvents& events_;
    RunFolder folder_;
    models::OpenedModel start_;
    models::CountTrainable* countable_ = nullptr;
    std::unique_ptr<Objective> validation_;
    std::unique_ptr<Metrics> metrics_;
    std::int64_t steps_ = 0;
};

}  // namespace

SessionResult run_counting(const Recipe& recipe, const SessionOptions& options, const SessionEvents& events) {
    return Counting(recipe, options, events).run();
}

}  // namespace tessera::training
