#include "tessera/training/run/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "tessera/core/error.h"
#include "tessera/core/interruption.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/own_files.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/class_names.h"
#include "tessera/plots/loss_plot.h"
#include "tessera/training/objectives/held_out.h"
#include "tessera/training/objectives/registration.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/recipe/recipe_paths.h"
#include "tessera/training/run/counting.h"
#include "tessera/training/run/data_record.h"
#include "tessera/training/run/epochs.h"
#include "tessera/training/run/initial_model.h"
#include "tessera/training/run/metrics.h"
#include "tessera/training/run/run_folder.h"

namespace tessera::training {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
constexpr auto plot_interval = std::chrono::seconds(10);

std::int64_t step_of(const fs::path& checkpoint) {
    const fs::path file = checkpoint / "state" / "trainer.json";
    return formats::Config(formats::Json::read(file), file.string()).integer("step");
}

// In plain words: the library's own texts of these name no file first.
std::string reason_of(const std::exception& error) {
    const auto* file = dynamic_cast<const fs::filesystem_error*>(&error);
    return file ? text_of(file->path1().string(), ": ", file->code().message()) : error.what();
}

class Session {
   public:
    Session(const Recipe& recipe, const SessionOptions& options, const SessionEvents& events)
        : recipe_(recipe),
          events_(events),
          options_(options),
          folder_(options.folder, folder_options(recipe, options)) {}

    SessionResult run() {
        const std::optional<fs::path> earlier = folder_.newest_checkpoint();
        const std::int64_t first_step = earlier ? step_of(*earlier) : 0;
        const std::vector<ChangedSetting> changes = earlier ? changes_of_recipe() : std::vector<ChangedSetting>();
        if (!recipe_.epochs) refuse_fewer_steps(first_step);
        data_ = record_of_data(recipe_, [this](double done, double total) { prepare("reading", done, total); });
        if (earlier) check_same_data(recipe_, data_of(*earlier), data_);
        const formats::Json& model = recipe_.model;
        if (model.is_string() && models::is_adapter_folder(model.as_string()))
            recipe_.resolved.reject("model",
                                    text_of(model.as_string(), " holds adapters; `tessera merge` makes a model of it"));
        std::vector<std::string> new_head;
        start_ = initial_model(recipe_,
                               {.earlier = earlier,
                                .device = options_.device,
                                .tokenizer_dir = folder_.cache(),
                                .classes = classes_taught(recipe_),
                                .on_preparation = [this](const std::string& what, double done,
                                                         double total) { prepare(what, done, total); },
                                .on_new_head = [&](const std::vector<std::string>& classes) { new_head = classes; }});
        if (options_.resume && events_.on_resume) events_.on_resume(first_step, changes);
        if (!earlier && !new_head.empty() && events_.on_new_head) events_.on_new_head(new_head);
        if (recipe_.sample_every > 0 && !start_.model->can(models::Capability::Generate))
            recipe_.resolved.reject("sample.every", text_of("a model of type ", start_.model->config.text("model_type"),
                                                            " continues no texts"));
        folder_.check_room(room_needed());
        objective_ = make_objective(inputs(recipe_.train_data));
        settle_steps(recipe_, objective_->examples());
        refuse_fewer_steps(first_step);
        name_classes(objective_->classes());
        start_.keep_sidecar_files(folder_.cache() / sidecar_folder);
        if (!recipe_.validation_data.empty())
            validation_ = make_objective(inputs(recipe_.validation_data));
        else if (recipe_.held_out > 0)
            validation_ = std::make_unique<HeldOut>(*objective_, recipe_.held_out);
        trainer_ = std::make_unique<Trainer>(*start_.model, *objective_, recipe_, options_.device);
        if (earlier) {
            restore_state(*trainer_, *earlier);
            checkpoint_ = *earlier;
            saved_step_ = trainer_->steps();
        }
        write_recipe(first_step, changes);
        metrics_ = std::make_unique<Metrics>(folder_.metrics(), trainer_->steps());
        if (!changes.empty()) metrics_->add_changes(trainer_->steps(), changes);
        if (events_.on_start) events_.on_start(*start_.model, *trainer_);
        try {
            learn();
        } catch (const Stopped& stopped) {
            return stop(stopped.signal);
        }
        finish();
        return result();
    }

   private:
    // Two checkpoints more than are kept: one being written, and the result.
    std::int64_t room_needed() const {
        return checkpoint_bytes(recipe_, start_) * (recipe_.save_every > 0 ? recipe_.save_keep + 2 : 1);
    }

    fs::path recipe_file() const { return folder_.path() / "recipe.json"; }

    std::vector<ChangedSetting> changes_of_recipe() const {
        std::error_code error;
        check(fs::exists(recipe_file(), error), recipe_file().string(),
              ": is missing, so that nobody knows which settings the checkpoints beside it have");
        return changed_settings(resolve_recipe_file(recipe_file()), recipe_.resolved);
    }

    void refuse_fewer_steps(std::int64_t first_step) const {
        if (recipe_.steps < first_step)
            recipe_.resolved.reject(recipe_.epochs ? "epochs" : "steps",
                                    text_of(recipe_.steps, " steps, and the run stands at ", first_step, " already"));
    }

    void write_recipe(std::int64_t first_step, const std::vector<ChangedSetting>& changes) const {
        const formats::Json earlier = first_step > 0 ? formats::Json::read(recipe_file()) : formats::Json::object();
        with_history(recipe_.resolved.json(), earlier, first_step, changes).write(recipe_file());
    }

    ObjectiveInputs inputs(const std::vector<std::string>& data) const {
        ObjectiveInputs inputs{.recipe = recipe_, .model = *start_.model, .tokenizer = start_.tokenizer, .data = data};
        inputs.cache = folder_.cache();
        const char* what = objective_of(recipe_).packs_windows ? "tokens" : "images";
        inputs.on_progress = [this, what](double done, double total) { prepare(what, done, total); };
        return inputs;
    }

    void prepare(const std::string& what, double done, double total) const {
        stop_if_asked();
        if (events_.on_preparation) events_.on_preparation(what, done, total);
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
        start_.model->class_names = classes;
    }

    void learn() {
        // What was stopped between a step and its evaluation.
        if (is_due(recipe_.evaluate_every) && trainer_->steps() > 0 && !is_evaluated()) evaluate();
        while (!trainer_->finished()) {
            stop_if_asked();
            one_step();
        }
        if (evaluated_step_ != trainer_->steps()) keeping_weights([&] { evaluate(); });
    }

    bool is_evaluated() const {
        const auto& taken = metrics_->history().validation;
        return !validation_ || (!taken.empty() && taken.back().step == trainer_->steps());
    }

    SessionResult result() const {
        const RecentLoss recent = recent_loss(metrics_->history().training);
        return {.steps = trainer_->steps(),
                .all_steps = trainer_->all_steps(),
                .loss = recent.mean,
                .loss_steps = recent.steps,
                .validation_loss = validation_result_.loss,
                .answers = validation_result_.answers};
    }

    SessionResult stop(int signal) {
        SessionResult stopped = result();
        stopped.stopped_by = signal;
        if (trainer_->steps() == 0) throw Stopped{signal};
        keeping_weights([&] {
            plot();
            stopped.checkpoint = save_checkpoint();
        });
        return stopped;
    }

    fs::path save_checkpoint() {
        if (saved_step_ != trainer_->steps())
            checkpoint_ = folder_.save_checkpoint(start_, *trainer_, validation_result_.loss, data_);
        saved_step_ = trainer_->steps();
        return checkpoint_;
    }

    // What cannot be written, or measured, does not take with it what was learned.
    template <class Body>
    void keeping_weights(const Body& body) {
        std::string reason;
        try {
            return body();
        } catch (const std::exception& error) {
            reason = reason_of(error);
        }
        try {
            reason +=
                text_of("; what was learned is kept in ", save_checkpoint().string(), ", from where it can be resumed");
        } catch (const std::exception&) {  // most likely the disk is full
            reason += "; what was learned is " + keep_elsewhere();
        }
        fail(reason);
    }

    // In the folder for temporary files; without the tokenizer's and other files where these are gone.
    std::string keep_elsewhere() {
        std::error_code error;
        const fs::path place = fs::temp_directory_path(error) /
                               text_of(options_.folder.filename().string(), "-", formats::random_digits());
        std::string reason;
        for (const bool whole : {true, false}) {
            if (!whole) start_.sidecar_files = {};
            try {
                start_.save(place);
                return text_of("kept in ", place.string(),
                               whole ? "" : ", without the files beside its weights: ", reason);
            } catch (const std::exception& again) {
                formats::remove_own(place, formats::is_model_file);
                reason = reason_of(again);
            }
        }
        return text_of("lost, since it cannot be kept elsewhere: ", reason);
    }

    bool is_due(std::int64_t every) const { return every > 0 && trainer_->steps() % every == 0; }

    void one_step() {
        const StepReport report = trainer_->step();
        keeping_weights([&] { after_step(report); });
    }

    void after_step(const StepReport& report) {
        folder_.begin();
        metrics_->add(report, static_cast<double>(report.units) / report.seconds);
        if (events_.on_step) events_.on_step(report, objective_->unit());
        if (is_due(recipe_.evaluate_every)) evaluate();
        if (is_due(recipe_.sample_every) && events_.on_sample && start_.tokenizer)
            events_.on_sample(start_, trainer_->steps());
        if (is_due(recipe_.save_every) || (recipe_.save_every > 0 && trainer_->finished())) {
            save_checkpoint();
            folder_.prune(recipe_.save_keep);
        }
        if (Clock::now() - plotted_ > plot_interval) plot();
    }

    void evaluate() {
        if (!validation_) return;
        const auto take = [&] { validation_result_ = trainer_->evaluate(*validation_); };
        if (trainer_->keeps_average())
            trainer_->with_average(take);  // which is what the run is to leave
        else
            take();
        evaluated_step_ = trainer_->steps();
        // A finished run that is asked to go on is evaluated again, to the same loss.
        const std::vector<LossPoint>& recorded = metrics_->history().validation;
        if (recorded.empty() || recorded.back().step != trainer_->steps())
            metrics_->add_validation(trainer_->steps(), validation_result_);
        if (events_.on_validation) events_.on_validation(trainer_->steps(), validation_result_);
    }

    void plot() {
        plots::write_loss_plot(folder_.path() / "loss.svg", metrics_->history(), options_.folder.filename().string());
        plotted_ = Clock::now();
    }

    void finish() {
        const auto save = [&](const fs::path& folder) {
            if (trainer_->keeps_average())
                trainer_->with_average([&] { start_.save(folder); });
            else
                start_.save(folder);
        };
        folder_.begin();
        keeping_weights([&] {
            plot();
            folder_.save_result(save);
            if (recipe_.save_every == 0) folder_.remove_checkpoints();  // of a run that was stopped on its way
        });
    }

    Recipe recipe_;  // its epochs become steps when the data is known
    const SessionEvents& events_;
    SessionOptions options_;
    RunFolder folder_;
    formats::Json data_;  // what the examples are made of
    models::OpenedModel start_;
    std::unique_ptr<Objective> objective_, validation_;  // outlive the trainer, which makes batches ahead
    std::unique_ptr<Trainer> trainer_;
    std::unique_ptr<Metrics> metrics_;
    Evaluation validation_result_{.loss = nothing};
    std::int64_t evaluated_step_ = -1;
    fs::path checkpoint_;  // the last one
    std::int64_t saved_step_ = -1;
    Clock::time_point plotted_ = Clock::now();
};

}  // namespace

SessionResult run_session(const Recipe& recipe, const SessionOptions& options, const SessionEvents& events) {
    check_paths(recipe);
    if (recipe.optimizer == OptimizerKind::Count) return run_counting(recipe, options, events);
    return Session(recipe, options, events).run();
}

}  // namespace tessera::training
