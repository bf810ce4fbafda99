#include "tessera/training/recipe/recipe.h"

#include <charconv>
#include <limits>
#include <sstream>

#include "tessera/core/error.h"

namespace tessera::training {
namespace {

using formats::Config;

// The value whose name this is; an error lists the names.
template <class Value>
Value choose(const Config& config, const char* field, std::initializer_list<std::pair<const char*, Value>> choices) {
    const std::string given = config.text(field);
    std::string names;
    for (const auto& [name, value] : choices) {
        if (given == name) return value;
        names += text_of(names.empty() ? "" : ", ", name);
    }
    config.reject(field, text_of("expected one of ", names, ", found \"", given, "\""));
}

constexpr double unbounded = 1e300;

double from_zero(const Config& config, const char* field, double below) {
    const double value = config.number(field);
    if (!(value >= 0 && value < below))
        config.reject(field, text_of("expected a number from 0", below < unbounded ? text_of(" to below ", below) : "",
                                     ", found ", value));
    return value;
}

double share(const Config& config, const char* field) {
    const double value = config.number(field);
    if (!(value >= 0 && value <= 1)) config.reject(field, text_of("expected a share from 0 to 1, found ", value));
    return value;
}

double above_zero(const Config& config, const char* field) {
    const double value = config.number(field);
    if (!(value > 0)) config.reject(field, text_of("expected a number above 0, found ", value));
    return value;
}

constexpr std::int64_t most_shards = 1 << 20;

void read_optimizer(const Config& optimizer, Recipe& recipe) {
    recipe.optimizer = choose<OptimizerKind>(optimizer, "name",
                                             {{"adamw", OptimizerKind::AdamW},
                                              {"adafactor", OptimizerKind::Adafactor},
                                              {"sgd", OptimizerKind::Sgd},
                                              {"count", OptimizerKind::Count}});
    const double decay = from_zero(optimizer, "weight_decay", unbounded);
    recipe.adamw = {.beta1 = from_zero(optimizer, "beta1", 1),
                    .beta2 = from_zero(optimizer, "beta2", 1),
                    .epsilon = from_zero(optimizer, "epsilon", unbounded),
                    .weight_decay = decay};
    recipe.sgd = {.momentum = from_zero(optimizer, "momentum", 1), .weight_decay = decay};
    recipe.adafactor.weight_decay = decay;
}

Schedule read_schedule(const Config& resolved, std::int64_t steps) {
    const Config section = resolved.section("schedule");
    return {.kind = choose<ScheduleKind>(section, "name",
                                         {{"constant", ScheduleKind::Constant},
                                          {"cosine", ScheduleKind::Cosine},
                                          {"linear", ScheduleKind::Linear},
                                          {"inverse_square_root", ScheduleKind::InverseSquareRoot}}),
            .peak = from_zero(resolved.section("optimizer"), "learning_rate", unbounded),
            .warmup_steps = section.integer("warmup"),
            .total_steps = steps,
            .floor_fraction = share(section, "floor")};
}

// "i/n": part i of n, from 0.
void read_shard(const Config& data, Recipe& recipe) {
    const std::string given = data.text("shard");
    const char* const end = given.data() + given.size();
    const auto first = std::from_chars(given.data(), end, recipe.shard);
    const bool has_slash = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
    const auto second = std::from_chars(has_slash ? first.ptr + 1 : end, end, recipe.shards);
    if (second.ec != std::errc() || second.ptr != end || recipe.shard < 0 || recipe.shard >= recipe.shards ||
        recipe.shards > most_shards)
        data.reject("shard", text_of("expected a part of several, such as 0/4 to 3/4, found \"", given, "\""));
}

// Targets may stand in one text, as "q_proj,v_proj".
std::optional<models::AdapterSettings> read_lora(const Config& lora) {
    models::AdapterSettings settings{.rank = lora.integer("rank"),
                                     .alpha = lora.number("alpha"),
                                     .dropout = from_zero(lora, "dropout", 1),
                                     .targets = {}};
    if (settings.rank == 0) return std::nullopt;
    if (settings.alpha == 0) settings.alpha = 2 * static_cast<double>(settings.rank);
    for (const std::string& text : lora.texts("targets")) {
        std::istringstream words(text);
        for (std::string word; std::getline(words, word, ',');)
            if (!word.empty()) settings.targets.push_back(word);
    }
    if (settings.targets.empty()) lora.reject("targets", "expected names of layers, found none");
    return settings;
}

}  // namespace

Recipe read_recipe(const Config& resolved) {
    const Config data = resolved.section("data"), evaluate = resolved.section("evaluate"),
                 sample = resolved.section("sample"), save = resolved.section("save");
    Recipe recipe;
    recipe.resolved = resolved;
    if (*resolved.json().find("model") == formats::Json(""))
        resolved.reject("model", "expected a checkpoint, a config.json or a preset's name, found \"\"");
    recipe.objective = resolved.text("objective");
    recipe.tokenizer = resolved.text("tokenizer");
    recipe.train_data = data.texts("train");
    recipe.validation_data = data.texts("validation");
    recipe.length = data.positive("length");
    recipe.shuffle = data.boolean("shuffle");
    read_shard(data, recipe);
    recipe.limit = data.integer("limit");
    if (recipe.limit == 0) recipe.limit = std::numeric_limits<std::int64_t>::max();
    recipe.held_out = data.integer("held_out");
    recipe.batch = resolved.positive("batch");
    recipe.accumulate = resolved.positive("accumulate");
    if (resolved.has("epochs"))
        recipe.epochs = above_zero(resolved, "epochs");
    else
        recipe.steps = resolved.positive("steps");
    read_optimizer(resolved.section("optimizer"), recipe);
    recipe.schedule = read_schedule(resolved, recipe.steps);
    recipe.clip = from_zero(resolved, "clip", unbounded);
    recipe.loss.label_smoothing = from_zero(resolved, "label_smoothing", 1);
    recipe.loss.z_loss = from_zero(resolved, "z_loss", unbounded);
    if (resolved.has("balance")) recipe.loss.balance = from_zero(resolved, "balance", unbounded);
    recipe.ema = from_zero(resolved, "ema", 1);
    recipe.spike = from_zero(resolved, "spike", unbounded);
    recipe.lora = read_lora(resolved.section("lora"));
    recipe.freeze = resolved.texts("freeze");
    const Config rates = resolved.section("rates");
    for (const auto& [name, factor] : rates.json().members())
        recipe.rates.emplace_back(name, from_zero(rates, name.c_str(), unbounded));
    recipe.precision = choose<DType>(resolved, "precision", {{"f32", DType::F32}, {"bf16", DType::BF16}});
    recipe.recompute = resolved.boolean("recompute");
    recipe.seed = static_cast<std::uint64_t>(resolved.integer("seed"));
    recipe.evaluate_every = evaluate.integer("every");
    recipe.evaluate_batches = evaluate.positive("batches");
    recipe.sample_every = sample.integer("every");
    recipe.sample_prompt = sample.text("prompt");
    recipe.sample_tokens = sample.positive("tokens");
    recipe.save_every = save.integer("every");
    recipe.save_keep = save.positive("keep");
    return recipe;
}

}  // namespace tessera::training
