// tessera convert: the same model in another dtype or other shards.
#include <fmt/format.h>

#include <filesystem>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/core/interruption.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/output_folder.h"
#include "tessera/models/catalog.h"
#include "tessera/models/dtype_names.h"
#include "tessera/models/sidecar_files.h"
#include "tessera/training/run/run_folder.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

// Safetensors have no quantised dtypes.
void check_writable(const std::string& source, const formats::TensorMap& tensors) {
    for (const auto& [name, tensor] : tensors)
        check(!is_quantised(tensor.dtype()), source, ": ", name, " is of dtype ", tensor.dtype(),
              ", which a folder cannot hold; give --dtype f32, bf16 or f16");
}

}  // namespace

int convert_command(const std::vector<std::string>& arguments) {
    std::string source, folder, dtype_name, max_shard = "5GB";
    bool overwrite = false;
    Arguments parser("convert",
                     "Writes a model again, in another dtype or cut into other files. Everything beside the weights\n"
                     "(tokenizer, templates) goes along.",
                     "tessera convert DIR OUT --dtype bf16 --max-shard 5GB");
    parser.model("DIR", source, "the model: a folder of the Hub's layout, a .gguf file, or one of llama2.c (.bin)");
    parser.positional("OUT", folder, "the folder to write");
    parser.option("--dtype NAME", dtype_name, "f32, bf16 or f16 (default: as it is)");
    parser.option("--max-shard SIZE", max_shard, "the largest file, e.g. 5GB");
    parser.flag("--overwrite", overwrite, "replace the model that is in OUT; your own other files stay");
    if (const auto status = parser.parse(arguments)) return *status;

    formats::WriteOptions options{.max_shard_bytes = bytes_named(max_shard, "--max-shard")};
    if (!dtype_name.empty()) options.tensors.dtype = models::weight_dtype(dtype_name, "--dtype");
    const Interruption interruption;
    formats::OutputFolder out(
        folder, {.overwrite = overwrite, .inputs = {source}, .is_own = training::what_gives_way_in(folder)});
    const formats::Checkpoint checkpoint = models::open(source);
    models::load(checkpoint);  // strict: what is written is a whole model
    if (!options.tensors.dtype) check_writable(source, checkpoint.tensors);
    const bool is_file = !fs::is_directory(source);
    const models::ModelPlace place = models::model_place(source);
    models::SidecarFiles sidecar_files = models::sidecar_files(place);
    if (is_file) sidecar_files.tokenizer = models::tokenizer_place(place);

    formats::NamedTensors tensors(checkpoint.tensors.begin(), checkpoint.tensors.end());
    double total = 0, written = 0;
    for (const auto& [name, tensor] : tensors)
        total += static_cast<double>(bytes_of(options.tensors.dtype.value_or(tensor.dtype()), tensor.elements()));
    Progress progress("writing", total, "B");
    options.tensors.on_written = [&](std::int64_t count) { progress.set(written += static_cast<double>(count)); };
    const models::Config config =
        options.tensors.dtype ? models::with_dtype(checkpoint.config, *options.tensors.dtype) : checkpoint.config;
    formats::write_checkpoint(out.path(), config, tensors, options);
    if (is_file && !checkpoint.generation_config.json().members().empty())
        checkpoint.generation_config.json().write(out.path() / "generation_config.json");
    sidecar_files.write_to(out.path());
    for (const fs::path& file : models::files_beside_weights(source))
        formats::copy_file(file, out.path() / file.filename());
    out.commit();
    fmt::print("{}: {}, {}\n", one_line(folder), counted(tensors.size(), "tensor"), in_bytes(written));
    return 0;
}

}  // namespace tessera::cli
