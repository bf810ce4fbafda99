#include "tessera/evaluation/run_comparison.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>

#include "tessera/core/error.h"
#include "tessera/data/documents.h"
#include "tessera/models/summary.h"
#include "tessera/tensor/tape.h"
#include "tessera/training/objectives/registration.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/token_corpus.h"

namespace tessera::evaluation {
namespace {

namespace fs = std::filesystem;
using formats::Config;
using formats::Json;
using Clock = std::chrono::steady_clock;

constexpr int decoding_rounds = 100;
constexpr std::int64_t decoded_tokens = 4;  // of one round: short, so that most are not interrupted

// What nine of ten values do not exceed: others may use the machine too, and only ever make a rate smaller.
double high_rate(std::vector<double> rates) {
    if (rates.empty()) return RunStats::unknown;
    const auto at = rates.begin() + static_cast<std::ptrdiff_t>((rates.size() - 1) * 9 / 10);
    std::nth_element(rates.begin(), at, rates.end());
    return *at;
}

void read_metrics(const fs::path& path, RunStats& figures) {
    std::ifstream file(path);
    check(file.good(), path.string(), ": cannot be read; is this the folder of a run?");
    std::vector<double> rates;
    for (std::string line; std::getline(file, line);) {
        if (file.eof()) break;  // without its end: the run was killed while it wrote
        const Config entry(Json::parse(line, path.string()), path.string());
        figures.steps = entry.integer("step");
        if (entry.has("loss")) figures.losses.push_back({figures.steps, entry.number("loss")});
        if (entry.has("units_per_second")) rates.push_back(entry.number("units_per_second"));
        if (entry.has("validation_accuracy")) figures.accuracy = entry.number("validation_accuracy");
        if (entry.has("validation_loss"))
            figures.validation.push_back({figures.steps, entry.number("validation_loss")});
    }
    figures.loss = training::recent_loss(figures.losses);
    if (!figures.validation.empty()) figures.validation_loss = figures.validation.back().loss;
    figures.units_per_second = high_rate(std::move(rates));
}

// Tokens of the validation data for each character of its texts.
double tokens_per_character(const FinishedRun& run) {
    training::ObjectiveInputs inputs{.recipe = run.recipe,
                                     .model = *run.opened.model,
                                     .tokenizer = run.opened.tokenizer,
                                     .data = run.recipe.validation_data};
    inputs.cache = run.folder / "cache";
    fs::create_directories(inputs.cache);
    std::int64_t characters = 0;
    data::for_each_document(data::text_files(inputs.data),
                            {.field = run.recipe.field, .separator = run.recipe.separator}, [&](std::string_view text) {
                                characters += std::count_if(text.begin(), text.end(),
                                                            [](char byte) { return (byte & 0xc0) != 0x80; });
                            });
    return static_cast<double>(training::tokenised(inputs).tokens().size()) / static_cast<double>(characters);
}

bool continues_texts(const RunStats& figures, const training::Recipe& recipe) {
    return figures.generates && training::objective_of(recipe).has(training::Metric::Perplexity);
}

// One text that is being continued.
struct Timed {
    std::unique_ptr<models::DecodingSession> session;
    Tensor token;
    std::vector<double> rates = {};

    void round() {
        const auto start = Clock::now();
        for (std::int64_t i = 0; i < decoded_tokens; ++i) session->step(token).to(cpu);
        const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
        rates.push_back(static_cast<double>(decoded_tokens) / seconds);
    }
};

// What the text says does not matter for what it costs.
Timed begin_text(const FinishedRun& run, RunStats& figures, std::int64_t context) {
    const std::int64_t after = decoded_tokens * (decoding_rounds + 1), longest = run.opened.model->longest_text();
    figures.context = longest > 0 ? std::min(context, std::max<std::int64_t>(1, longest - after)) : context;
    const Device device = run.opened.device;
    Timed timed{.session = run.opened.model->decode(figures.context + after),
                .token = Tensor::zeros({1, 1}, DType::I64).to(device)};
    timed.session->prefill({.input_ids = Tensor::zeros({1, figures.context}, DType::I64).to(device)});
    figures.cache_bytes = timed.session->cache_bytes();
    timed.round();
    timed.rates.clear();
    return timed;
}

}  // namespace

FinishedRun open_run(const std::string& name, const fs::path& folder, Device device) {
    const fs::path file = folder / "recipe.json";
    check(fs::exists(file), folder.string(), ": no recipe.json; is this the folder of a run?");
    FinishedRun run{.name = name,
                    .folder = folder,
                    .recipe = training::read_recipe(training::resolve_recipe_file(file)),
                    .opened = {}};
    run.opened = models::open_model(folder, {.device = device});
    return run;
}

RunStats figures_of(const FinishedRun& run) {
    RunStats figures{.name = run.name};
    const models::Summary summary = models::summarise(*run.opened.model);
    figures.parameters = summary.parameters;
    figures.active_parameters = summary.active_parameters;
    figures.operations = summary.matrix_operations + summary.encoder_operations;
    figures.generates = summary.generates;
    figures.cache_bytes_per_token = summary.cache_per_token * bytes_of(DType::F32, 1);
    read_metrics(run.folder / "metrics.jsonl", figures);
    const bool has_texts =
        training::objective_of(run.recipe).has(training::Metric::Perplexity) && !run.recipe.validation_data.empty();
    if (has_texts && std::isfinite(figures.validation_loss))
        figures.bits_per_character = figures.validation_loss / std::log(2.0) * tokens_per_character(run);
    return figures;
}

void measure_decoding(const std::vector<FinishedRun>& runs, std::vector<RunStats>& figures, std::int64_t context) {
    const NoGrad no_grad;
    std::vector<Timed> texts(runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i)
        if (continues_texts(figures[i], runs[i].recipe)) texts[i] = begin_text(runs[i], figures[i], context);
    for (int round = 0; round < decoding_rounds; ++round)
        for (Timed& text : texts)
            if (text.session) text.round();
    for (std::size_t i = 0; i < runs.size(); ++i)
        if (texts[i].session) figures[i].decoded_per_second = high_rate(texts[i].rates);
}

// A moving mean over a fiftieth of the run, which counts the first steps in full.
static std::vector<plots::ChartPoint> smoothed(const std::vector<training::LossPoint>& losses) {
    const double keep = 1 - 1 / std::max(1.0, static_cast<double>(losses.size()) / 50);
    std::vector<plots::ChartPoint> points;
    double sum = 0, weight = 0;
    for (const training::LossPoint& point : losses) {
        sum = keep * sum + point.loss;
        weight = keep * weight + 1;
        points.push_back({static_cast<double>(point.step), sum / weight});
    }
    return points;
}

plots::LineChart loss_curves(const std::vector<RunStats>& figures, const std::string& title) {
    plots::LineChart chart{.title = title, .x_label = "step", .y_label = "loss", .lines = {}};
    double highest = 0;
    for (const RunStats& run : figures) {
        plots::ChartLine& line =
            chart.lines.emplace_back(plots::ChartLine{.name = run.name, .points = smoothed(run.losses)});
        for (const training::LossPoint& point : run.validation)
            line.dots.push_back({static_cast<double>(point.step), point.loss});
        // The first steps, in which a loss falls furthest, would leave no room for the rest.
        if (!line.points.empty()) highest = std::max(highest, line.points[line.points.size() / 10].y);
    }
    if (highest > 0) chart.highest_y = highest;
    const auto any = [&](auto list) {
        return std::any_of(chart.lines.begin(), chart.lines.end(),
                           [&](const plots::ChartLine& line) { return !(line.*list).empty(); });
    };
    if (any(&plots::ChartLine::points)) chart.line_name = "training, smoothed";
    if (any(&plots::ChartLine::dots)) chart.dots_name = "validation";
    return chart;
}

}  // namespace tessera::evaluation
