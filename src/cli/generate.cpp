// tessera generate: continues a prompt of token ids.
#include <algorithm>
#include <charconv>
#include <cstdio>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "formats/json.h"
#include "inference/generator.h"
#include "models/catalog.h"
#include "nn/module.h"

namespace tessera::cli {
namespace {

std::vector<std::int64_t> ids_of(const std::string& text) {
    std::vector<std::int64_t> ids;
    const char* at = text.data();
    const char* end = at + text.size();
    while (true) {
        std::int64_t id = 0;
        const auto [next, error] = std::from_chars(at, end, id);
        check(error == std::errc() && id >= 0 && (next == end || *next == ','), "--ids: '", text,
              "' is no list of token ids such as 1,2,3");
        ids.push_back(id);
        if (next == end) return ids;
        at = next + 1;
    }
}

// eos_token_id of generation_config.json, else of config.json: a number or a list of them.
std::vector<std::int64_t> stop_ids(const formats::Checkpoint& checkpoint) {
    const char* field = "eos_token_id";
    for (const formats::Config* config : {&checkpoint.generation_config, &checkpoint.config}) {
        if (!config->has(field)) continue;
        if (config->json().find(field)->is_array()) return config->integers(field);
        return {config->integer(field)};
    }
    return {};
}

formats::Json json_of(const std::vector<std::int64_t>& ids) {
    formats::Json list = formats::Json::array();
    for (const std::int64_t id : ids) list.push_back(id);
    return list;
}

void print_json(const inference::Generated& generated) {
    formats::Json rows = formats::Json::array();
    for (const auto& row : generated.tokens) rows.push_back(json_of(row));
    formats::Json out = formats::Json::object();
    out.set("tokens", std::move(rows))
        .set("read_seconds", generated.read_seconds)
        .set("step_seconds", generated.step_seconds)
        .set("steps", generated.steps)
        .set("cache_bytes", generated.cache_bytes);
    std::printf("%s\n", out.dump().c_str());
}

}  // namespace

int generate_command(const std::vector<std::string>& arguments) {
    std::string folder, device_name = "cpu";
    std::vector<std::string> prompts;
    std::int64_t max_new = 64;
    bool ignore_stop = false, json = false;
    Arguments parser("generate", "Continues a prompt of token ids, the most probable token each time.",
                     "tessera generate DIR --ids 5,17,42 --max-new 16");
    parser.positional("DIR", folder, "a folder of the Hub's layout, or a .gguf file");
    parser.option("--ids", prompts, "the prompt, e.g. 1,2,3; given again, several prompts run as one batch");
    parser.option("--max-new", max_new, "how many tokens at most");
    parser.flag("--ignore-stop", ignore_stop, "go on past the end-of-text token");
    parser.device(device_name);
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    if (prompts.empty()) {
        std::fprintf(stderr, "tessera generate: --ids is missing; see tessera generate --help\n");
        return 2;
    }
    constexpr std::int64_t most_new = std::int64_t{1} << 31;
    check(max_new > 0 && max_new <= most_new, "--max-new: expected 1 to ", most_new, ", found ", max_new);

    std::vector<std::vector<std::int64_t>> ids;
    for (const std::string& prompt : prompts) ids.push_back(ids_of(prompt));
    const Device device = device_named(device_name);
    const formats::Checkpoint checkpoint = models::open(folder);
    const std::unique_ptr<models::Model> model = models::load(checkpoint);
    if (device != cpu) nn::move_to(*model, device);
    models::Batch batch = inference::batch_of(ids);
    batch.input_ids = batch.input_ids.to(device);
    batch.attention_mask = batch.attention_mask.to(device);

    inference::GenerateOptions options{.max_new_tokens = max_new};
    if (!ignore_stop) options.stop_ids = stop_ids(checkpoint);
    const bool streams = !json && ids.size() == 1;
    bool first = true;
    const inference::Generated generated =
        inference::generate(*model, batch, options, [&](const inference::NewToken& token) {
            if (streams) std::printf(first ? "%lld" : ",%lld", static_cast<long long>(token.id));
            first = false;
            std::fflush(stdout);
            return true;
        });
    if (json) {
        print_json(generated);
        return 0;
    }
    if (streams) std::printf("\n");
    for (std::size_t row = 0; !streams && row < generated.tokens.size(); ++row)
        for (std::size_t i = 0; i < generated.tokens[row].size(); ++i)
            std::printf("%lld%c", static_cast<long long>(generated.tokens[row][i]),
                        i + 1 < generated.tokens[row].size() ? ',' : '\n');
    std::size_t read = 0;
    for (const auto& prompt : ids) read += prompt.size();
    std::fprintf(stderr, "prompt %zu tokens in %.3f s (%.1f/s), then %lld steps in %.3f s (%.1f tokens/s)\n", read,
                 generated.read_seconds, static_cast<double>(read) / generated.read_seconds,
                 static_cast<long long>(generated.steps), generated.step_seconds,
                 generated.steps > 0
                     ? static_cast<double>(generated.steps) * static_cast<double>(ids.size()) / generated.step_seconds
                     : 0.0);
    return 0;
}

}  // namespace tessera::cli
