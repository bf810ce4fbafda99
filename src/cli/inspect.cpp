// tessera inspect: what a model is and what it costs, from its configuration alone.
#include <cmath>
#include <cstdio>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/parameter_list.h"
#include "cli/terminal.h"
#include "formats/json.h"
#include "models/catalog.h"
#include "models/presets.h"
#include "models/summary.h"

namespace tessera::cli {
namespace {

constexpr DType shown_dtypes[] = {DType::F32, DType::BF16, DType::Q8_0};

double bytes_as(DType dtype, std::int64_t parameters) {
    const DTypeInfo& facts = info(dtype);
    return static_cast<double>(parameters) * facts.block_bytes / facts.block_elements;
}

void print_text(models::Model& model, const models::Architecture& architecture, const models::Summary& s) {
    std::printf("%s  %s\n\n", bold(architecture.model_type).c_str(), architecture.paper);
    for (const models::Part& part : s.parts)
        std::printf("  %-18s %20s  %5.1f %%\n", part.name.c_str(), with_separators(part.parameters).c_str(),
                    100.0 * static_cast<double>(part.parameters) / static_cast<double>(s.parameters));
    std::printf("  %-18s %20s  %s\n", "parameters", bold(with_separators(s.parameters)).c_str(),
                in_powers(static_cast<double>(s.parameters)).c_str());
    if (s.active_parameters != s.parameters)
        std::printf("  %-18s %20s  of them for one token\n", "active", with_separators(s.active_parameters).c_str());
    std::printf("\n  weights           ");
    for (const DType dtype : shown_dtypes)
        std::printf(" %s %s ", in_bytes(bytes_as(dtype, s.parameters)).c_str(), std::string(name(dtype)).c_str());
    std::printf("\n");
    if (s.generates) {
        std::printf("  cache per token    %s in bf16", in_bytes(2.0 * static_cast<double>(s.cache_per_token)).c_str());
        if (s.cache_per_token != s.full_cache_per_token && s.cache_per_token > 0)
            std::printf(" (%s with keys and values for every head, %.1f× as much)",
                        in_bytes(2.0 * static_cast<double>(s.full_cache_per_token)).c_str(),
                        static_cast<double>(s.full_cache_per_token) / static_cast<double>(s.cache_per_token));
        if (s.window > 0) std::printf(", at most %s tokens", with_separators(s.window).c_str());
        std::printf("\n");
    }
    std::printf("  forward per token  %sFLOP, and %sFLOP for each token looked at\n",
                in_metric(s.matrix_operations).c_str(), in_metric(s.operations_per_context_token).c_str());
    if (s.encoder_operations > 0) std::printf("  encoder per token  %sFLOP\n", in_metric(s.encoder_operations).c_str());
    if (const std::string drawing = models::draw_blocks(model); !drawing.empty()) std::printf("\n%s", drawing.c_str());
}

void print_json(const models::Config& config, const models::Architecture& architecture, const models::Summary& s) {
    formats::Json parts = formats::Json::object(), memory = formats::Json::object();
    for (const models::Part& part : s.parts) parts.set(part.name, part.parameters);
    for (const DType dtype : shown_dtypes)
        memory.set(std::string(name(dtype)), std::llround(bytes_as(dtype, s.parameters)));
    formats::Json out = formats::Json::object();
    out.set("source", config.source())
        .set("model_type", architecture.model_type)
        .set("paper", architecture.paper)
        .set("parameters", s.parameters)
        .set("active_parameters", s.active_parameters)
        .set("parts", std::move(parts))
        .set("weight_bytes", std::move(memory))
        .set("generates", s.generates)
        .set("cache_values_per_token", s.cache_per_token)
        .set("cache_values_per_token_with_full_heads", s.full_cache_per_token)
        .set("window", s.window)
        .set("forward_flop_per_token", s.matrix_operations)
        .set("forward_flop_per_token_looked_at", s.operations_per_context_token)
        .set("encoder_flop_per_token", s.encoder_operations);
    std::printf("%s\n", out.dump().c_str());
}

int list_presets(bool json) {
    formats::Json list = formats::Json::array();
    for (const models::Preset& preset : models::presets()) {
        const models::Config config = models::config_named(preset.name);
        const std::unique_ptr<models::Model> model = models::build(config);
        const std::int64_t parameters = nn::parameter_count(*model);
        if (json)
            list.push_back(formats::Json::object().set("name", preset.name).set("parameters", parameters));
        else
            std::printf("%-28s %-14s %20s parameters\n", preset.name, config.text("model_type").c_str(),
                        with_separators(parameters).c_str());
    }
    if (json) std::printf("%s\n", list.dump().c_str());
    return 0;
}

}  // namespace

int inspect_command(const std::vector<std::string>& arguments) {
    std::string source;
    bool json = false, list = false, parameters = false;
    Arguments parser("inspect",
                     "Says what a model is and what it costs: family and paper, parameters by part, memory, cache and\n"
                     "operations per token, and a drawing of its blocks. Needs the configuration only, no weights.",
                     "tessera inspect DIR");
    parser.optional_positional("MODEL", source, "a folder, a config.json or a preset's name");
    parser.flag("--list", list, "list the presets instead");
    parser.flag("--parameters", parameters, "list the parameters instead: names, shapes and dtypes");
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    if (list) return list_presets(json);
    if (source.empty()) {
        std::fprintf(stderr, "tessera inspect: MODEL is missing; see tessera inspect --help\n");
        return 2;
    }
    if (parameters) return list_parameters(source, json);

    const models::Config config = models::config_named(source);
    const models::Architecture& architecture = models::architecture_of(config);
    const std::unique_ptr<models::Model> model = models::build(config);
    const models::Summary summary = models::summarise(*model);
    json ? print_json(config, architecture, summary) : print_text(*model, architecture, summary);
    return 0;
}

}  // namespace tessera::cli
