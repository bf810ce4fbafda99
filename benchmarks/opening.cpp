// Opening a checkpoint: files are mapped and headers read, nothing else. A model of 1.1 billion parameters in bf16.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "benchmarks/support.h"
#include "tessera/core/memory.h"
#include "tessera/inference/token_loop.h"
#include "tessera/models/catalog.h"

namespace tessera::benchmarks {
namespace {

namespace fs = std::filesystem;
using formats::Json;

Json config_of_1b() {
    Json config = Json::object();
    config.set("model_type", "llama").set("vocab_size", 32000).set("hidden_size", 2048).set("intermediate_size", 5632);
    config.set("num_hidden_layers", 22).set("num_attention_heads", 32).set("num_key_value_heads", 4);
    config.set("max_position_embeddings", 2048).set("tie_word_embeddings", false);
    return config;
}

double resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    double pages = 0, resident = 0;
    statm >> pages >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

void report_limit(const std::string& name, double value, const char* unit, double limit) {
    report({.name = name,
            .ours = value,
            .unit = unit,
            .against = "limit",
            .reference = limit,
            .ratio = value / limit,
            .sense = Goal::AtMost,
            .goal = 1});
}

void run() {
    const fs::path folder = fs::temp_directory_path() / ("tessera_opening_" + std::to_string(getpid()));
    progress("writing 2.2 GB");
    models::save(*models::initialised(models::Config(config_of_1b(), "benchmark"), 1, DType::BF16), folder,
                 {.max_shard_bytes = 1'000'000'000});
    release_cached(cpu);
    const double before = resident_bytes();
    std::unique_ptr<models::Model> model;
    const double seconds = seconds_once([&] { model = models::load(folder); });
    report_limit("opening 1.1B parameters in bf16", seconds, "s", 1);
    report_limit("opening 1.1B parameters, memory touched", (resident_bytes() - before) / 1e6, "MB", 100);
    const auto prompt = inference::batch_of({{1, 2, 3, 4, 5, 6, 7, 8}});
    const inference::Generated generated = inference::generate(*model, prompt, {.max_new_tokens = 24});
    const double step = generated.decode_seconds / static_cast<double>(generated.steps);
    report({.name = "1.1B in bf16, weights read while decoding", .ours = 2.2e9 / step / 1e9, .unit = "GB/s"});
    model.reset();
    fs::remove_all(folder);
}

const RegisterBenchmark registered({"opening", "opening a checkpoint of 1.1 billion parameters", run, 8});

}  // namespace
}  // namespace tessera::benchmarks
