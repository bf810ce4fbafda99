#include "tessera/cli/commands/training_display.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <sstream>

#include "tessera/cli/commands/next_command.h"
#include "tessera/cli/commands/training_line.h"
#include "tessera/cli/commands/training_outcome.h"
#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/core/interruption.h"
#include "tessera/inference/generator.h"
#include "tessera/kernels/gemm.h"
#include "tessera/models/summary.h"
#include "tessera/nn/module.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"
#include "tessera/tokenizers/tokenizer.h"
#include "tessera/training/run/metrics.h"

namespace tessera::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string in_time(double seconds) {
    const auto whole = static_cast<std::int64_t>(seconds);
    return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                         : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

// What one large product of matrices reaches in the dtype that layers multiply in: the measure of utilisation.
double peak_operations(Device device, DType dtype) {
    const NoGrad no_grad;
    const std::int64_t size = device == cpu ? 768 : 8192;
    const Tensor a = Tensor::full({size, size}, 0.5, dtype, device);
    double best = 0;
    for (int turn = 0; turn < 4; ++turn) {
        const auto start = Clock::now();
        ops::slice(ops::matmul(a, a), 0, 0, 1).to(cpu);  // one row: only to wait until it is there
        best = std::max(best, 2 * std::pow(static_cast<double>(size), 3) / seconds_since(start));
    }
    return best;
}

class Display {
   public:
    Display(const training::Recipe& recipe, const training::SessionOptions& options, bool quiet)
        : recipe_(recipe), folder_(options.folder.string()), device_(options.device), quiet_(quiet) {}

    training::SessionEvents events() {
        training::SessionEvents events;
        events.on_preparation = [this](const std::string& what, double done, double total) {
            if (!preparation_ || what != prepared_) {
                preparation_.reset();
                preparation_ = std::make_unique<Progress>(what, total,
                                                          what == "counting"                      ? "tokens"
                                                          : what == "tokens" || what == "reading" ? "B"
                                                          : what == "images"                      ? "files"
                                                                                                  : "steps");
                prepared_ = what;
            }
            preparation_->set(done);
        };
        events.on_resume = [this](std::int64_t step, const std::vector<training::ChangedSetting>& changes) {
            say(resumption(folder_, step, changes));
        };
        events.on_new_head = [this](const std::vector<std::string>& classes) {
            constexpr std::size_t most_named = 8;
            std::string names;
            for (std::size_t i = 0; i < std::min(classes.size(), most_named); ++i)
                names += text_of(i > 0 ? ", " : "", one_line(classes[i]));
            say(fmt::format("a new head for {} classes: {}{}", classes.size(), names,
                            classes.size() > most_named ? ", …" : ""));
        };
        events.on_start = [this](const models::Model& model, const training::Trainer& trainer) {
            start(model, trainer);
        };
        events.on_step = [this](const training::StepReport& report, const char* unit) { step(report, unit); };
        events.on_validation = [this](std::int64_t step, const training::Evaluation& result) {
            say(fmt::format("step {}: validation loss {:.4f}{}", step, result.loss, accuracy_of(result.answers)));
        };
        events.on_sample = [this](const models::OpenedModel& model, std::int64_t step) { sample(model, step); };
        return events;
    }

   private:
    void start(const models::Model& model, const training::Trainer& trainer) {
        preparation_.reset();
        auto& mutable_model = const_cast<models::Model&>(model);  // visiting counts, and changes nothing
        const models::Summary summary = models::summarise(mutable_model);
        peak_ = peak_operations(device_, recipe_.precision);
        const bool sees_texts = std::string_view(trainer.unit()) == "tokens";
        steps_ = trainer.all_steps();
        say(fmt::format("{} parameters, {} of them learn; {} steps of {}{} ({:.3g} epochs)",
                        with_separators(summary.parameters), with_separators(trainer.trained_parameters()), steps_,
                        recipe_.batch * recipe_.accumulate,
                        sees_texts ? fmt::format(" × {}", recipe_.length) : fmt::format(" {}", trainer.unit()),
                        trainer.epochs_after(steps_)));
        first_step_ = trainer.steps();
        started_ = Clock::now();
        operations_before_ = kernels::gemm_operations;
    }

    // Of the products' rate; empty where the model has none.
    std::string utilisation(double seconds) const {
        const auto done = static_cast<double>(kernels::gemm_operations - operations_before_);
        const double percent = 100 * done / seconds / peak_;
        return percent < 0.5 ? "" : fmt::format("{:.0f} % of peak", percent);
    }

    // Where the recipe counts in epochs.
    std::string epoch_of(const training::StepReport& report) const {
        return recipe_.epochs
                   ? fmt::format("epoch {:.3g}/{:.3g}", std::min(report.epoch, *recipe_.epochs), *recipe_.epochs)
                   : "";
    }

    void step(const training::StepReport& report, const char* unit) {
        units_ += report.units;
        losses_.push_back({report.step, report.loss});
        if (losses_.size() > training::RecentLoss::most_steps) losses_.erase(losses_.begin());
        const training::RecentLoss recent = training::recent_loss(losses_);
        const double seconds = seconds_since(started_);
        const auto done = static_cast<double>(report.step - first_step_);
        const double rate = static_cast<double>(units_) / seconds;
        const double left = seconds / done * static_cast<double>(steps_ - report.step);
        if (quiet_) return;
        const bool last = report.step == steps_;
        const double silence = seconds_since(drawn_);
        if (is_terminal() ? !last && silence < 0.1
                          : !ShownSteps{.first = first_step_ + 1, .all = steps_}.shows(report.step, silence))
            return;
        drawn_ = Clock::now();
        const std::vector<std::string> fields{fmt::format("step {}/{}", report.step, steps_),
                                              fmt::format("loss {:.4f}", report.loss),
                                              fmt::format("mean of {}: {:.4f}", recent.steps, recent.mean),
                                              epoch_of(report),
                                              fmt::format("rate {:.2e}", report.learning_rate),
                                              fmt::format("gradient {:.2f}", report.gradient_norm),
                                              fmt::format("{} {}/s", in_powers(rate), unit),
                                              utilisation(seconds),
                                              in_bytes(static_cast<double>(report.memory_bytes)),
                                              fmt::format("{} left", in_time(left))};
        if (is_terminal())
            fmt::print("\r\033[K{}{}", fitted_line(fields, terminal_columns(80) - 1), last ? "\n" : "");
        else
            fmt::print("{}\n", fitted_line(fields, std::string::npos));
        std::fflush(stdout);
    }

    void sample(const models::OpenedModel& model, std::int64_t step) {
        if (quiet_) return;
        say(fmt::format("step {}:", step));
        try {
            std::istringstream lines(recipe_.sample_prompt + continuation(model));
            for (std::string line; std::getline(lines, line);) say("    " + one_line(line));
        } catch (const inference::PromptTooLong& error) {  // no reason to end the run, as the next
            say(fmt::format("    no sample: sample.prompt has {} tokens, and the model's context is {}", error.tokens,
                            error.context));
        } catch (const Error& error) {
            say(fmt::format("    no sample: {}", one_line(error.what())));
        }
    }

    // What the model says after the recipe's sample.prompt, the most probable token each time.
    std::string continuation(const models::OpenedModel& model) const {
        const tokenizers::SpecialTokens& special = model.text().special;
        inference::Prompt prompt{.ids = model.text().encode(recipe_.sample_prompt)};
        if (prompt.ids.empty()) prompt.ids = {special.bos.value_or(special.eos.value_or(0))};
        inference::GenerationRequest request{.prompts = {prompt}, .settings = inference::settings_of(model)};
        request.settings->max_new_tokens = recipe_.sample_tokens;
        request.settings->sampler.do_sample = false;
        request.settings->beams.count = 1;
        return inference::Generator(model).generate(request).texts[0].text;
    }

    void say(const std::string& line) const {
        if (quiet_) return;
        std::printf("%s%s\n", is_terminal() ? "\r\033[K" : "", line.c_str());
        std::fflush(stdout);
    }

    const training::Recipe& recipe_;
    std::string folder_;
    Device device_;
    bool quiet_;
    std::unique_ptr<Progress> preparation_;
    std::string prepared_;                     // what the bar is about
    std::vector<training::LossPoint> losses_;  // of the last steps
    double peak_ = 1;
    std::int64_t operations_before_ = 0;
    std::int64_t units_ = 0, first_step_ = 0, steps_ = 0;
    Clock::time_point started_ = Clock::now(), drawn_ = {};
};

}  // namespace

int train_with_display(const training::Recipe& recipe, const training::SessionOptions& options, bool json,
                       const std::string& resume_command) {
    const Interruption interruption;
    Display display(recipe, options, json);
    const training::SessionEvents events = display.events();
    const training::SessionResult result = training::run_session(recipe, options, events);
    if (result.stopped_by != 0) {
        if (is_terminal() && !json) fmt::print("\n");
        return end_of_stopped(result, "stopped", resume_command);
    }
    if (json) {
        formats::Json out = formats::Json::object();
        out.set("folder", options.folder.string()).set("steps", result.steps);
        if (std::isfinite(result.loss)) out.set("training_loss", result.loss);
        if (result.loss_steps > 0) out.set("training_loss_steps", result.loss_steps);
        if (std::isfinite(result.validation_loss)) out.set("validation_loss", result.validation_loss);
        if (result.answers.total > 0) out.set("validation_accuracy", result.answers.share());
        std::printf("%s\n", out.dump().c_str());
        return 0;
    }
    const std::string folder = one_line(options.folder.string());
    fmt::print("{}: {}; try: tessera {}\n", folder, outcome(result),
               next_command(training::find_objective(recipe.objective), folder));
    return 0;
}

}  // namespace tessera::cli
