// Models that look at a window only: the price of a token, in time and memory, must not grow with the text.
#include <fmt/core.h>

#include "benchmarks/support.h"
#include "tessera/core/memory.h"
#include "tessera/models/catalog.h"
#include "tessera/tensor/tape.h"

namespace tessera::benchmarks {
namespace {

using formats::Json;
using models::Model;

constexpr std::int64_t window = 256, vocabulary = 1000;
constexpr std::int64_t lengths[] = {2048, 8192, 32768};
constexpr double time_goal = 1.15, memory_goal = 1.1;

std::unique_ptr<Model> small_model(Json config) {
    config.set("vocab_size", vocabulary).set("hidden_size", 256).set("num_hidden_layers", 4);
    config.set("num_attention_heads", 4).set("intermediate_size", 512).set("max_position_embeddings", 40000);
    return models::initialised(models::Config(std::move(config), "benchmark"), 1);
}

std::unique_ptr<Model> sliding_decoder() {
    return small_model(
        Json::object().set("model_type", "mistral").set("num_key_value_heads", 2).set("sliding_window", window));
}

std::unique_ptr<Model> sliding_encoder() {
    Json config = Json::object().set("model_type", "longformer").set("attention_window", window);
    config.set("architectures", Json::array().push_back("LongformerModel")).set("pad_token_id", 1);
    return small_model(std::move(config));
}

// The first length is the yardstick of the others.
struct PerToken {
    std::string name;
    const char* unit;
    double goal;
    double first = 0;

    void add(std::int64_t length, double value) {
        const bool is_first = first == 0;
        if (is_first) first = value;
        report({.name = fmt::format("{} T={}", name, length),
                .ours = value,
                .unit = unit,
                .against = is_first ? "" : fmt::format("T={}", lengths[0]),
                .reference = is_first ? 0 : first,
                .ratio = is_first ? 0 : value / first,
                .sense = is_first ? Goal::None : Goal::AtMost,
                .goal = is_first ? 0 : goal});
    }
};

void measure_whole_texts(const std::string& name, const Model& model) {
    PerToken time{name + " forward, a token", "µs", time_goal},
        memory{name + " peak memory, a token", "KiB", memory_goal};
    for (const std::int64_t length : lengths) {
        progress(fmt::format("{} T={}", name, length));
        const Tensor ids = random_ids({1, length}, vocabulary);
        const auto run = [&] { model.forward({.input_ids = ids}); };
        run();
        const std::int64_t before = memory_stats(cpu).bytes_in_use;
        reset_peak(cpu);
        run();
        const auto tokens = static_cast<double>(length);
        memory.add(length, static_cast<double>(memory_stats(cpu).peak_bytes - before) / 1024 / tokens);
        time.add(length, seconds_of(run, {.seconds = 1, .least_rounds = 3, .warm_up = 0}) * 1e6 / tokens);
    }
}

void measure_decoding(const std::string& name, const Model& model) {
    PerToken time{name + " decode step after", "µs", time_goal}, memory{name + " cache after", "KiB", memory_goal};
    for (const std::int64_t length : lengths) {
        const auto session = model.decode(40000);
        session->prefill({.input_ids = random_ids({1, length}, vocabulary)});
        const Tensor next = random_ids({1, 1}, vocabulary);
        const double seconds = seconds_of([&] { session->step(next); }, {.seconds = 0.5, .least_rounds = 50});
        time.add(length, seconds * 1e6);
        memory.add(length, static_cast<double>(session->cache_bytes()) / 1024);
    }
}

void run() {
    const NoGrad no_grad;
    const auto decoder = sliding_decoder(), encoder = sliding_encoder();
    measure_whole_texts("sliding decoder (Mistral)", *decoder);
    measure_decoding("sliding decoder (Mistral)", *decoder);
    measure_whole_texts("sliding encoder (Longformer)", *encoder);
}

const RegisterBenchmark registered({"windows", "time and memory of a token under a fixed window", run, 7});

}  // namespace
}  // namespace tessera::benchmarks
