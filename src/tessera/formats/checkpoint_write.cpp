#include <fmt/format.h>

#include "tessera/formats/atomic_file.h"
#include "tessera/formats/checkpoint.h"
#include "tessera/formats/checkpoint_files.h"
#include "tessera/formats/output_folder.h"

namespace tessera::formats {
namespace {

namespace fs = std::filesystem;

std::string shard_name(std::size_t index, std::size_t count) {
    return fmt::format("model-{:05}-of-{:05}.safetensors", index + 1, count);
}

std::int64_t bytes_in(const Tensor& tensor, const WriteOptions& options) {
    const bool converted = options.tensors.dtype && (is_float(tensor.dtype()) || is_quantised(tensor.dtype()));
    return bytes_of(converted ? *options.tensors.dtype : tensor.dtype(), tensor.elements());
}

// In the order given; a tensor larger than a whole shard gets one of its own.
std::vector<NamedTensors> cut(const NamedTensors& tensors, const WriteOptions& options) {
    std::vector<NamedTensors> shards(1);
    std::int64_t filled = 0;
    for (const auto& named : tensors) {
        const std::int64_t bytes = bytes_in(named.second, options);
        if (!shards.back().empty() && bytes > options.max_shard_bytes - filled) {
            shards.emplace_back();
            filled = 0;
        }
        shards.back().push_back(named);
        filled += bytes;
    }
    return shards;
}

Json index_of(const fs::path& folder, const std::vector<NamedTensors>& shards, const WriteOptions& options) {
    std::map<std::string, std::string> shard_of;
    std::int64_t total = 0;
    for (std::size_t i = 0; i < shards.size(); ++i)
        for (const auto& [name, tensor] : shards[i]) {
            check(shard_of.emplace(name, shard_name(i, shards.size())).second, visible_path(folder), ": tensor ",
                  Json(name), ": given twice");
            total += bytes_in(tensor, options);
        }
    Json weight_map = Json::object();
    for (const auto& [name, shard] : shard_of) weight_map.set(name, shard);
    return Json::object()
        .set("metadata", Json::object().set("total_size", total))
        .set("weight_map", std::move(weight_map));
}

}  // namespace

void write_checkpoint(const fs::path& folder, const Json& config, const NamedTensors& tensors,
                      const WriteOptions& options) {
    check(config.is_object(), visible_path(folder), ": ", config_name, ": expected an object, found ", config);
    check(options.max_shard_bytes > 0, visible_path(folder), ": shards of at most ", options.max_shard_bytes, " bytes");

    const std::vector<NamedTensors> shards = cut(tensors, options);
    OutputFolder out(folder, {.overwrite = true, .is_own = is_weights_file, .holds_run_lock = true});
    if (shards.size() == 1) {
        write_safetensors(out.path() / single_name, tensors, options.metadata, options.tensors);
    } else {
        const Json index = index_of(folder, shards, options);
        for (std::size_t i = 0; i < shards.size(); ++i)
            write_safetensors(out.path() / shard_name(i, shards.size()), shards[i], options.metadata, options.tensors);
        index.write(out.path() / index_name);
    }
    config.write(out.path() / config_name);
    if (!options.generation_config.is_null()) options.generation_config.write(out.path() / generation_config_name);
    out.commit();
}

}  // namespace tessera::formats
