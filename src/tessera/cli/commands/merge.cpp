// tessera merge: LoRA adapters and their base become one plain checkpoint.
#include <fmt/format.h>

#include <filesystem>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/commands/next_command.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/core/error.h"
#include "tessera/core/interruption.h"
#include "tessera/formats/output_folder.h"
#include "tessera/models/dtype_names.h"
#include "tessera/models/opened_model.h"
#include "tessera/training/objectives/registration.h"
#include "tessera/training/run/run_folder.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

// The base's own, and f32 where it has quantised weights, which a folder of the Hub's layout cannot hold.
std::optional<DType> dtype_for(models::Model& model, const std::string& given) {
    if (!given.empty()) return models::weight_dtype(given, "--dtype");
    for (const auto& [name, tensor] : nn::parameters(model))
        if (is_quantised(tensor->dtype())) return DType::F32;
    return std::nullopt;
}

}  // namespace

int merge_command(const std::vector<std::string>& arguments) {
    std::string adapter, base, out, dtype;
    bool json = false, overwrite = false;
    Arguments parser("merge", "Adds LoRA adapters to the weights of their base: a plain checkpoint.",
                     "tessera merge runs/my-adapter -o runs/my-model");
    parser.positional("ADAPTER", adapter, "a folder with adapter_config.json");
    parser.option("--base DIR", base, "the model the adapters were made for (default: where it was then)");
    parser.option("-o,--output DIR", out, "the folder to write, needed");
    parser.option("--dtype NAME", dtype,
                  "of the weights to write: f32, bf16 or f16 (default: the base's, f32 for a quantised one)");
    parser.flag("--overwrite", overwrite, "replace the model that is in OUT; your own other files stay");
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    if (out.empty()) {
        return parser.refuse("-o OUT is missing");
    }
    check(models::is_adapter_folder(adapter), adapter, ": no folder of adapters: it has no adapter_config.json");
    const fs::path from = base.empty() ? models::base_of_adapters(adapter) : fs::path(base);
    const Interruption interruption;
    formats::OutputFolder folder(
        out, {.overwrite = overwrite, .inputs = {adapter, from}, .is_own = training::what_gives_way_in(out)});
    models::OpenedModel opened =
        models::open_model(from, {.adapter = adapter, .needs_tokenizer = models::NeedsTokenizer::No});
    opened.sidecar_files.tokenizer = models::tokenizer_place(models::model_place(from, adapter));
    models::Model& model = *opened.model;
    formats::WriteOptions options;
    options.tensors.dtype = dtype_for(model, dtype);
    if (options.tensors.dtype) model.config = models::with_dtype(model.config, *options.tensors.dtype);
    models::merge_adapters(model);
    options.tensors.on_written = [](std::int64_t) { stop_if_asked(); };
    opened.save(folder.path(), options);
    folder.commit();
    if (json)
        fmt::print("{}\n",
                   json_for_terminal(formats::Json::object().set("base", from.string()).set("folder", out).dump()));
    else
        fmt::print("{}: {} with {}; try: tessera {}\n", one_line(out), one_line(from.string()), one_line(adapter),
                   one_line(next_command(training::default_objective(model), out)));
    return 0;
}

}  // namespace tessera::cli
