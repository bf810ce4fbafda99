#include "tessera/training/run/metrics.h"

#include <algorithm>
#include <fstream>

#include "tessera/core/error.h"
#include "tessera/formats/atomic_file.h"

namespace tessera::training {

using formats::Json;

RecentLoss recent_loss(const std::vector<LossPoint>& losses) {
    const auto all = static_cast<std::int64_t>(losses.size());
    if (all == 0) return {};
    const std::int64_t steps = std::min(all, RecentLoss::most_steps);
    double sum = 0;
    for (auto point = losses.end() - steps; point != losses.end(); ++point) sum += point->loss;
    return {.mean = sum / static_cast<double>(steps), .steps = steps};
}

Metrics::Metrics(const std::filesystem::path& file, std::int64_t first_step) : file_(nullptr, std::fclose) {
    std::string kept;
    std::ifstream earlier(file);
    for (std::string line; first_step > 0 && std::getline(earlier, line);) {
        if (earlier.eof()) break;  // a line without its end: the run was killed while it wrote
        const formats::Config entry(Json::parse(line, file.string()), file.string());
        const std::int64_t step = entry.integer("step");
        if (step > first_step) continue;
        kept += line + "\n";
        if (entry.has("loss")) history_.training.push_back({step, entry.number("loss")});
        if (entry.has("validation_loss")) history_.validation.push_back({step, entry.number("validation_loss")});
    }
    earlier.close();
    formats::AtomicFile rewritten(file);
    rewritten.write(kept);
    rewritten.commit();
    file_.reset(std::fopen(file.c_str(), "a"));
    check(file_ != nullptr, file.string(), ": cannot be written");
}

void Metrics::write(const Json& line) {
    const std::string text = line.dump(0) + "\n";
    check(std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size() && std::fflush(file_.get()) == 0,
          "metrics.jsonl: cannot be written; is the disk full?");
}

void Metrics::add(const StepReport& report, double units_per_second) {
    history_.training.push_back({report.step, report.loss});
    Json line = Json::object();
    line.set("step", report.step)
        .set("loss", report.loss)
        .set("smoothed_loss", report.smoothed_loss)
        .set("epoch", report.epoch)
        .set("learning_rate", report.learning_rate)
        .set("gradient_norm", report.gradient_norm)
        .set("units", report.units)
        .set("units_per_second", units_per_second)
        .set("seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count())
        .set("memory_bytes", report.memory_bytes)
        .set("activation_bytes", report.activation_bytes);
    if (report.busiest_expert > 0) line.set("busiest_expert", report.busiest_expert);
    write(line);
}

void Metrics::add_validation(std::int64_t step, const Evaluation& result) {
    history_.validation.push_back({step, result.loss});
    Json line = Json::object().set("step", step).set("validation_loss", result.loss);
    if (result.answers.total > 0) line.set("validation_accuracy", result.answers.share());
    write(line);
}

void Metrics::add_changes(std::int64_t step, const std::vector<ChangedSetting>& changes) {
    Json settings = Json::object();
    for (const ChangedSetting& change : changes)
        settings.set(change.key, Json::object().set("old", change.old_value).set("new", change.new_value));
    write(Json::object().set("step", step).set("resumed", std::move(settings)));
}

}  // namespace tessera::training
