// tessera init: a checkpoint of random weights, for training from scratch, tests and benchmarks.
#include <fmt/format.h>
#include <unistd.h>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/core/interruption.h"
#include "tessera/formats/output_folder.h"
#include "tessera/models/catalog.h"
#include "tessera/models/dtype_names.h"
#include "tessera/training/run/run_folder.h"

namespace tessera::cli {

int init_command(const std::vector<std::string>& arguments) {
    std::string source, folder, dtype_name = "f32", max_shard = "5GB";
    std::int64_t seed = 0;
    bool overwrite = false;
    Arguments parser("init", "Writes a checkpoint of random weights, of any architecture.",
                     "tessera init config.json OUT --seed 1 --dtype bf16");
    parser.positional("CONFIG", source, "a config.json, a folder with one, or a preset's name");
    parser.positional("OUT", folder, "the folder to write");
    parser.option("--seed", seed, "the same seed gives the same weights");
    parser.option("--dtype NAME", dtype_name, "f32, bf16 or f16");
    parser.option("--max-shard SIZE", max_shard, "the largest file, e.g. 5GB");
    parser.flag("--overwrite", overwrite, "replace the model that is in OUT; your own other files stay");
    if (const auto status = parser.parse(arguments)) return *status;

    const DType dtype = models::weight_dtype(dtype_name, "--dtype");
    check(seed >= 0, "--seed: must not be negative, found ", seed);
    const std::int64_t shard_bytes = bytes_named(max_shard, "--max-shard");
    const Interruption interruption;
    const models::Config config = models::config_named(source);
    const std::unique_ptr<models::Model> shapes = models::build(config);
    const std::int64_t parameters = nn::parameter_count(*shapes);
    const auto bytes = static_cast<double>(bytes_of(dtype, parameters));
    const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
    check(bytes < memory, config.source(), ": its ", with_separators(parameters), " parameters are ", in_bytes(bytes),
          " in ", dtype_name, ", more than the ", in_bytes(memory), " of this machine");

    formats::OutputFolder out(
        folder, {.overwrite = overwrite, .inputs = {source}, .is_own = training::what_gives_way_in(folder)});
    std::unique_ptr<models::Model> model;
    {
        Progress progress("random weights", static_cast<double>(parameters), "parameters");
        double done = 0;
        model = models::initialised(config, static_cast<std::uint64_t>(seed), dtype, [&](const Tensor& parameter) {
            progress.set(done += static_cast<double>(parameter.elements()));
        });
    }
    model->config = models::with_dtype(config, dtype);
    Progress progress("writing", bytes, "B");
    double written = 0;
    formats::WriteOptions options{.max_shard_bytes = shard_bytes};
    options.tensors.on_written = [&](std::int64_t count) { progress.set(written += static_cast<double>(count)); };
    models::save(*model, out.path(), options);
    out.commit();
    fmt::print("{}: {}, {} in {}\n", one_line(folder), counted(parameters, "parameter"), in_bytes(bytes), dtype_name);
    return 0;
}

}  // namespace tessera::cli
