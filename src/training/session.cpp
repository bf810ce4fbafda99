#include "training/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "models/adapters.h"
#include "models/classes.h"
#include "training/counting.h"
#include "training/held_out.h"
#include "training/loss_plot.h"
#include "training/metrics.h"
#include "training/run_folder.h"
#include "training/starting_model.h"

namespace tessera::training {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
constexpr auto plot_interval = std::chrono::seconds(10);

class Session {
   public:
    Session(const Recipe& recipe, const SessionOptions& options, const SessionEvents& events)
        : recipe_(recipe), events_(events), options_(options), folder_(options.folder) {}

    SessionResult run() {
        const std::optional<fs::path> earlier = checkpoint_to_resume();
        const formats::Json& model = *recipe_.resolved.json().find("model");
        if (model.is_string() && models::is_adapter_folder(model.as_string()))
            recipe_.resolved.reject("model",
                                    text_of(model.as_string(), " holds adapters; `tessera merge` makes a model of it"));
        start_ = starting_model(recipe_, {.earlier = earlier,
                                          .device = options_.device,
                                          .workshop = folder_.cache(),
                                          .classes = classes_taught(recipe_),
                                          .on_preparation = events_.on_preparation});
        if (!earlier && !start_.new_head.empty() && events_.on_new_head) events_.on_new_head(start_.new_head);
        folder_.check_room(room_needed());
        recipe_.resolved.json().write(folder_.path() / "recipe.json");
        objective_ = make_objective(inputs(recipe_.train_data));
        name_classes(objective_->classes());
        if (!recipe_.validation_data.empty())
            validation_ = make_objective(inputs(recipe_.validation_data));
        else if (recipe_.held_out > 0)
            validation_ = std::make_unique<HeldOut>(*objective_, recipe_.held_out);
        trainer_ = std::make_unique<Trainer>(*start_.model, *objective_, recipe_, options_.device);
        if (earlier) restore_state(*trainer_, *earlier);
        metrics_ = std::make_unique<Metrics>(folder_.metrics(), trainer_->steps());
        if (events_.on_start) events_.on_start(*start_.model, *trainer_);
        while (!trainer_->finished()) one_step();
        if (recipe_.steps % std::max<std::int64_t>(1, recipe_.evaluate_every) != 0 || recipe_.evaluate_every == 0)
            evaluate();
        finish();
        return {trainer_->steps(), trainer_->smoothed_loss(), validation_result_.loss, validation_result_.answers};
    }

   private:
    // Two checkpoints more than are kept: one being written, and the result.
    std::int64_t room_needed() const {
        return checkpoint_bytes(recipe_, start_) * (recipe_.save_every > 0 ? recipe_.save_keep + 2 : 1);
    }

    std::optional<fs::path> checkpoint_to_resume() const {
        if (options_.overwrite) folder_.remove_checkpoints();
        const std::optional<fs::path> newest = folder_.newest_checkpoint();
        check(options_.resume || !newest, folder_.path().string(),
              ": holds an earlier run's checkpoints; --resume goes on from them, --overwrite removes them");
        check(!options_.resume || newest || !folder_.has_result(), folder_.path().string(),
              ": holds a finished run without checkpoints (save.every was 0): there is nothing to go on from");
        return newest;
    }

    ObjectiveInputs inputs(const std::vector<std::string>& data) const {
        ObjectiveInputs inputs{.recipe = recipe_, .model = *start_.model, .tokenizer = start_.tokenizer, .data = data};
        inputs.cache = folder_.cache();
        if (events_.on_preparation)
            inputs.on_progress = [this](double done, double total) { events_.on_preparation("tokens", done, total); };
        return inputs;
    }

    // The data's names of the classes go into the config; numbers only where that has no names.
    void name_classes(const std::vector<std::string>& classes) {
        models::Config& config = start_.model->config;
        const bool numbered = std::all_of(classes.begin(), classes.end(), models::is_class_number);
        if (classes.empty() || (numbered && config.has("id2label"))) return;
        formats::Json names = formats::Json::object(), numbers = formats::Json::object(), json = config.json();
        for (std::size_t i = 0; i < classes.size(); ++i) {
            names.set(std::to_string(i), classes[i]);
            numbers.set(classes[i], i);
        }
        json.set("id2label", std::move(names)).set("label2id", std::move(numbers));
        config = {std::move(json), config.source()};
    }

    bool is_due(std::int64_t every) const { return every > 0 && trainer_->steps() % every == 0; }

    void one_step() {
        const StepReport report = trainer_->step();
        metrics_->add(report, static_cast<double>(report.units) / report.seconds);
        if (events_.on_step) events_.on_step(report, objective_->unit());
        if (is_due(recipe_.evaluate_every)) evaluate();
        if (is_due(recipe_.sample_every) && events_.on_sample && start_.tokenizer)
            events_.on_sample(*start_.model, *start_.tokenizer, trainer_->steps());
        if (is_due(recipe_.save_every) || (recipe_.save_every > 0 && trainer_->finished())) {
            folder_.save_checkpoint(start_, *trainer_, validation_result_.loss);
            folder_.prune(recipe_.save_keep);
        }
        if (Clock::now() - plotted_ > plot_interval) plot();
    }

    void evaluate() {
        if (!validation_) return;
        validation_result_ = trainer_->evaluate(*validation_);
        metrics_->add_validation(trainer_->steps(), validation_result_);
        if (events_.on_validation) events_.on_validation(trainer_->steps(), validation_result_);
    }

    void plot() {
        write_loss_plot(folder_.path() / "loss.svg", *metrics_, options_.folder.filename().string());
        plotted_ = Clock::now();
    }

    void finish() {
        plot();
        const auto save = [&] { start_.save(folder_.path()); };
        if (trainer_->keeps_average())
            trainer_->with_average(save);
        else
            save();
    }

    const Recipe& recipe_;
    const SessionEvents& events_;
    SessionOptions options_;
    RunFolder folder_;
    StartingModel start_;
    std::unique_ptr<Objective> objective_, validation_;  // outlive the trainer, which makes batches ahead
    std::unique_ptr<Trainer> trainer_;
    std::unique_ptr<Metrics> metrics_;
    Evaluation validation_result_{.loss = nothing};
    Clock::time_point plotted_ = Clock::now();
};

}  // namespace

SessionResult run_session(const Recipe& recipe, const SessionOptions& options, const SessionEvents& events) {
    if (recipe.optimizer == OptimizerKind::count) return run_counting(recipe, options, events);
    return Session(recipe, options, events).run();
}

}  // namespace tessera::training
