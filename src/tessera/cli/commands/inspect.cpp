// tessera inspect: what a model is and what it costs, from its configuration alone.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <optional>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/commands/parameter_list.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/formats/json.h"
#include "tessera/models/adapters/adapter_summary.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/catalog.h"
#include "tessera/models/presets.h"
#include "tessera/models/stored_weights.h"
#include "tessera/models/summary.h"

namespace tessera::cli {
namespace {

constexpr DType shown_dtypes[] = {DType::F32, DType::BF16, DType::Q8_0};

double bytes_as(DType dtype, std::int64_t parameters) {
    const DTypeInfo& facts = info(dtype);
    return static_cast<double>(parameters) * facts.block_bytes / facts.block_elements;
}

// What is asked about.
struct Inspected {
    models::Config config;
    const models::Architecture& architecture;
    std::unique_ptr<models::Model> model;
    models::Summary summary;
    std::vector<models::StoredWeights> stored;
    std::string stored_error;  // why the files of weights cannot be read; the rest is told all the same
    std::optional<models::AdapterSummary> adapters = {};  // of a folder of them; all else is of their base
    std::string base = {};
};

Inspected inspected(const std::string& source) {
    models::Config config = models::config_named(source);
    const models::Architecture& architecture = models::architecture_of(config);
    std::unique_ptr<models::Model> model = models::build(config);
    models::Summary summary = models::summarise(*model);
    Inspected all{std::move(config), architecture, std::move(model), std::move(summary), {}, {}};
    try {
        all.stored = models::stored_weights(source);
    } catch (const Error& error) {
        all.stored_error = error.what();
    }
    if (models::is_adapter_folder(source)) {
        all.adapters = models::summarise_adapters(source);
        all.base = models::base_of_adapters(source).string();
    }
    return all;
}

// How many tokens the model was made to read; 0: nobody says.
std::int64_t context_of(const Inspected& all) { return all.model->context_length(); }

// "12 layers, width 768, 12 heads of 64, 4 of keys and values"
std::string text_of_stack(const models::Stack& stack) {
    std::string text = fmt::format("{} layer{}", stack.layers, stack.layers == 1 ? "" : "s");
    if (stack.heads == 0) return text;
    text += fmt::format(", width {}, {} head{} of {}", with_separators(stack.width), stack.heads,
                        stack.heads == 1 ? "" : "s", stack.head_width);
    if (stack.kv_heads != stack.heads) text += fmt::format(", {} of keys and values", stack.kv_heads);
    return text;
}

// "the base BASE with adapters of rank 8 on 12 layers, 98,304 parameters; what follows is the base's"
std::string text_of_adapters(const models::AdapterSummary& adapters, const std::string& base) {
    const std::string rank = adapters.least_rank == adapters.most_rank
                                 ? fmt::format("rank {}", adapters.most_rank)
                                 : fmt::format("ranks {} to {}", adapters.least_rank, adapters.most_rank);
    return fmt::format("the base {} with adapters of {} on {}, {}; what follows is the base's", one_line(base), rank,
                       counted(adapters.layers, "layer"), counted(adapters.parameters, "parameter"));
}

void print_shape(const Inspected& all) {
    const models::Summary& s = all.summary;
    for (const models::Stack& stack : s.stacks)
        std::printf("  %-18s %s\n", stack.name.empty() ? "layers" : stack.name.c_str(), text_of_stack(stack).c_str());
    const char* can = "can";
    for (const models::Capability one : all.model->capabilities.list()) {
        std::printf("  %-18s %s\n", can, models::infinitive_of(one));
        can = "";
    }
    if (const std::int64_t context = context_of(all); context > 0)
        std::printf("  %-18s %s tokens\n", "context", with_separators(context).c_str());
    if (s.vocabulary > 0) std::printf("  %-18s %s tokens\n", "vocabulary", with_separators(s.vocabulary).c_str());
    const char* label = "stored";
    for (const models::StoredWeights& stored : all.stored) {
        const std::string bytes = stored.bytes > 0 ? in_bytes(static_cast<double>(stored.bytes)) : "?";
        fmt::print("  {:<18} {:<6} {:>9} in {}{}\n", label, stored.dtype, bytes, counted(stored.tensors, "tensor"),
                   stored.is_readable ? "" : "  (cannot be read)");
        label = "";
    }
    if (!all.stored_error.empty())
        std::printf("  %-18s cannot be read: %s\n", label, one_line(all.stored_error).c_str());
    std::printf("\n");
}

void print_text(const Inspected& all) {
    const models::Summary& s = all.summary;
    std::printf("%s  %s\n\n", bold(all.architecture.model_type).c_str(), all.architecture.paper);
    if (all.adapters) fmt::print("  {}\n\n", text_of_adapters(*all.adapters, all.base));
    print_shape(all);
    for (const models::Part& part : s.parts)
        std::printf("  %-18s %20s  %5.1f %%\n", part.name.c_str(), with_separators(part.parameters).c_str(),
                    100.0 * static_cast<double>(part.parameters) / static_cast<double>(s.parameters));
    std::printf("  %-18s %s  %s\n", "parameters", bold(fmt::format("{:>20}", with_separators(s.parameters))).c_str(),
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
    if (const std::string drawing = models::draw_blocks(*all.model); !drawing.empty())
        std::printf("\n%s", drawing.c_str());
}

formats::Json to_json(const std::vector<models::Stack>& stacks) {
    formats::Json list = formats::Json::array();
    for (const models::Stack& stack : stacks) {
        formats::Json one = formats::Json::object().set("name", stack.name).set("layers", stack.layers);
        if (stack.heads > 0)
            one.set("width", stack.width)
                .set("heads", stack.heads)
                .set("kv_heads", stack.kv_heads)
                .set("head_width", stack.head_width);
        list.push_back(std::move(one));
    }
    return list;
}

formats::Json to_json(const std::vector<models::StoredWeights>& all) {
    formats::Json list = formats::Json::array();
    for (const models::StoredWeights& stored : all)
        list.push_back(formats::Json::object()
                           .set("dtype", stored.dtype)
                           .set("readable", stored.is_readable)
                           .set("tensors", stored.tensors)
                           .set("parameters", stored.elements)
                           .set("bytes", stored.bytes > 0 ? formats::Json(stored.bytes) : formats::Json()));
    return list;
}

formats::Json to_json(models::Capabilities capabilities) {
    formats::Json list = formats::Json::array();
    for (const models::Capability one : capabilities.list()) list.push_back(models::name_of(one));
    return list;
}

void print_json(const Inspected& all) {
    const models::Summary& s = all.summary;
    formats::Json parts = formats::Json::object(), memory = formats::Json::object();
    for (const models::Part& part : s.parts) parts.set(part.name, part.parameters);
    for (const DType dtype : shown_dtypes)
        memory.set(std::string(name(dtype)), std::llround(bytes_as(dtype, s.parameters)));
    formats::Json out = formats::Json::object();
    out.set("source", all.config.source())
        .set("model_type", all.architecture.model_type)
        .set("paper", all.architecture.paper)
        .set("stacks", to_json(s.stacks))
        .set("context", context_of(all))
        .set("vocabulary", s.vocabulary)
        .set("stored", to_json(all.stored))
        .set("parameters", s.parameters)
        .set("active_parameters", s.active_parameters)
        .set("parts", std::move(parts))
        .set("weight_bytes", std::move(memory))
        .set("capabilities", to_json(all.model->capabilities))
        .set("generates", s.generates)
        .set("cache_values_per_token", s.cache_per_token)
        .set("cache_values_per_token_with_full_heads", s.full_cache_per_token)
        .set("window", s.window)
        .set("forward_flop_per_token", s.matrix_operations)
        .set("forward_flop_per_token_looked_at", s.operations_per_context_token)
        .set("encoder_flop_per_token", s.encoder_operations);
    if (all.adapters)
        out.set("adapters", formats::Json::object()
                                .set("base", all.base)
                                .set("layers", all.adapters->layers)
                                .set("least_rank", all.adapters->least_rank)
                                .set("most_rank", all.adapters->most_rank)
                                .set("parameters", all.adapters->parameters));
    if (!all.stored_error.empty()) out.set("stored_error", all.stored_error);
    fmt::print("{}\n", json_for_terminal(out.dump()));
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
                     "operations per token, layers, context and vocabulary, what its files hold, and a drawing of its\n"
                     "blocks. Needs the configuration only; weights are not read.",
                     "tessera inspect DIR");
    parser.optional_model("MODEL", source, "a folder, a config.json or a preset's name");
    parser.flag("--list", list, "list the presets instead");
    parser.flag("--parameters", parameters, "list the parameters instead: names, shapes and dtypes");
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    if (list) return list_presets(json);
    if (source.empty()) return parser.refuse("MODEL is missing");
    if (parameters) return list_parameters(source, json);

    const Inspected all = inspected(source);
    json ? print_json(all) : print_text(all);
    return 0;
}

}  // namespace tessera::cli
