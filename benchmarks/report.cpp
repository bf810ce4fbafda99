#include "benchmarks/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "benchmarks/limits.h"
#include "benchmarks/machine.h"
#include "tessera/core/error.h"
#include "tessera/core/parallel.h"

namespace tessera::benchmarks {
namespace {

struct State {
    bool quick = false;
    bool takes_best = false;
    bool json = false;
    std::string folder = ".";
    std::vector<Figure> figures;
    std::vector<std::string> notes;
    std::vector<std::pair<std::string, std::string>> attachments;
    std::vector<Benchmark> benchmarks;
};

State& state() {
    static State only;
    return only;
}

// Three digits that matter, whatever the size.
std::string number(double value) {
    const int digits = value == 0 ? 1 : static_cast<int>(std::floor(std::log10(std::fabs(value)))) + 1;
    return fmt::format("{:.{}f}", value, std::clamp(3 - digits, 0, 6));
}

std::string ratio_text(double ratio) { return fmt::format("{:.{}f}", ratio, ratio < 0.095 ? 3 : 2); }

std::string goal_text(const Figure& figure) {
    return figure.sense == Goal::None ? ""
                                      : fmt::format("{} {:g}", figure.sense == Goal::AtLeast ? "≥" : "≤", figure.goal);
}

std::string mark(const Figure& figure) { return figure.sense == Goal::None ? "" : figure.holds() ? "✓" : "✗"; }

std::string line_of(const Figure& figure) {
    std::string line = fmt::format("{:<46} {:>7} {:<9}", figure.name, number(figure.ours), figure.unit);
    if (!figure.against.empty())
        line += fmt::format("{:<18} {:>7}  {:>5}  {:<6} {}", figure.against, number(figure.reference),
                            ratio_text(figure.ratio), goal_text(figure), mark(figure));
    return line.substr(0, line.find_last_not_of(' ') + 1);
}

nlohmann::ordered_json machine_json() {
    const Machine here = machine();
    const Limits& found = limits();
    return {{"processor", here.processor},
            {"cores", here.cores},
            {"threads", thread_count()},
            {"caches", here.caches},
            {"vectors", here.vectors},
            {"gemm_gflops", found.gemm_flops / 1e9},
            {"gemm_library", found.gemm_library},
            {"bf16_gflops", found.bf16_flops / 1e9},
            {"copy_gbytes", found.copy_bytes / 1e9},
            {"copy_name", found.copy_name},
            {"read_gbytes", found.read_bytes / 1e9}};
}

nlohmann::ordered_json figure_json(const Figure& figure) {
    nlohmann::ordered_json object{{"name", figure.name}, {"value", figure.ours}, {"unit", figure.unit}};
    if (!figure.against.empty()) {
        object["against"] = figure.against;
        object["reference"] = figure.reference;
        object["ratio"] = figure.ratio;
    }
    if (figure.sense != Goal::None) {
        object["goal"] = goal_text(figure);
        object["holds"] = figure.holds();
    }
    return object;
}

nlohmann::ordered_json everything() {
    nlohmann::ordered_json all{{"machine", machine_json()}, {"figures", nlohmann::ordered_json::array()}};
    for (const Figure& figure : reported()) all["figures"].push_back(figure_json(figure));
    if (!notes().empty()) all["notes"] = notes();
    return all;
}

std::string page(const std::string& date) {
    const Machine here = machine();
    const Limits& found = limits();
    std::string text = fmt::format(
        "# Benchmarks, {}\n\n{}, {} cores, {}, {}; {} threads. f32 matrix product {:.0f} GFLOP/s ({}), bf16 {:.0f} "
        "GFLOP/s, copy {:.1f} GB/s ({}), read {:.1f} GB/s.\n\nMade by `./benchmarks/run --record`. {}; the sides of a "
        "ratio ran in turn.\n\n| figure | ours | | against | theirs | ratio | goal | |\n"
        "|---|--:|---|---|--:|--:|---|---|\n",
        date, here.processor, here.cores, here.vectors, here.caches, thread_count(), found.gemm_flops / 1e9,
        found.gemm_library, found.bf16_flops / 1e9, found.copy_bytes / 1e9, found.copy_name, found.read_bytes / 1e9,
        takes_best() ? "Best rounds" : "Medians");
    for (const Figure& figure : reported()) {
        const bool compared = !figure.against.empty();
        text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", figure.name, number(figure.ours),
                            figure.unit, figure.against, compared ? number(figure.reference) : "",
                            compared ? ratio_text(figure.ratio) : "", goal_text(figure), mark(figure));
    }
    for (const auto& [name, contents] : state().attachments) text += fmt::format("\n![{0}]({0})\n", name);
    for (const std::string& each : notes()) text += fmt::format("\n```\n{}\n```\n", each);
    return text;
}

void write(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    check(file.good(), "cannot write ", path);
    fmt::print(stderr, "wrote {}\n", path);
}

}  // namespace

void set_quick(bool quick) { state().quick = quick; }
bool is_quick() { return state().quick; }
void set_takes_best(bool takes_best) { state().takes_best = takes_best; }
bool takes_best() { return state().takes_best; }
void set_json(bool json) { state().json = json; }
void set_results_folder(const std::string& folder) { state().folder = folder; }
std::string results_folder() { return state().folder; }

void report(const Figure& figure) {
    progress("");
    state().figures.push_back(figure);
    if (state().json) return;
    fmt::print("{}\n", line_of(figure));
    std::fflush(stdout);
}

const std::vector<Figure>& reported() { return state().figures; }

void note(const std::string& text) {
    progress("");
    state().notes.push_back(text);
    if (!state().json) fmt::print("\n{}\n\n", text);
}

void attach(const std::string& file_name, const std::string& contents) {
    state().attachments.emplace_back(file_name, contents);
}

const std::vector<std::string>& notes() { return state().notes; }

RegisterBenchmark::RegisterBenchmark(const Benchmark& benchmark) {
    auto& all = state().benchmarks;
    const auto after = [&](const Benchmark& other) { return other.order > benchmark.order; };
    all.insert(std::find_if(all.begin(), all.end(), after), benchmark);
}

const std::vector<Benchmark>& benchmarks() { return state().benchmarks; }

void print_json() { fmt::print("{}\n", everything().dump(2)); }

void write_record(const std::string& date) {
    const Machine here = machine();
    const std::string base = fmt::format("{}/{}-{}-{}-cores", results_folder(), date, slug(here.processor), here.cores);
    std::filesystem::create_directories(results_folder());
    for (const auto& [name, contents] : state().attachments) write(results_folder() + "/" + name, contents);
    write(base + ".json", everything().dump(2) + "\n");
    write(base + ".md", page(date));
}

}  // namespace tessera::benchmarks
