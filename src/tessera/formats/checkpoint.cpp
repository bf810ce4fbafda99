#include "tessera/formats/checkpoint.h"

#include <algorithm>
#include <set>

#include "tessera/formats/checkpoint_files.h"

namespace tessera::formats {
namespace {

namespace fs = std::filesystem;

bool is_plain_name(const std::string& name) {
    return !name.empty() && name != "." && name != ".." &&
           name.find_first_of(std::string_view("/\\\0", 3)) == name.npos;
}

Config read_config_file(const fs::path& path) { return {Json::read(path), path.string()}; }

Config read_generation_config(const fs::path& folder) {
    const fs::path file = find_file(folder, generation_config_name);
    return file.empty() ? Config(Json::object(), (folder / generation_config_name).string()) : read_config_file(file);
}

// Tensor names by shard.
std::map<std::string, std::set<std::string>> read_index(const fs::path& path) {
    const Config index = read_config_file(path);
    std::map<std::string, std::set<std::string>> shards;
    for (const auto& [name, file] : index.section("weight_map").json().members()) {
        const std::string field = text_of("weight_map: ", Json(name));
        if (!file.is_string()) index.reject(field, text_of("expected a file name, found ", file));
        if (!is_plain_name(file.as_string()))
            index.reject(field, text_of("shard ", file, " is no plain file name in this folder"));
        shards[file.as_string()].insert(name);
    }
    if (shards.empty()) index.reject("weight_map", "names no tensor");
    return shards;
}

TensorMap read_shards(const fs::path& folder, const fs::path& index) {
    TensorMap tensors;
    for (const auto& [file, names] : read_index(index)) {
        const fs::path path = find_file(folder, file);
        check(!path.empty(), index.string(), ": weight_map: shard ", Json(file), " is not in the folder");
        Safetensors shard = read_safetensors(path);
        for (const std::string& name : names)
            check(shard.tensors.contains(name), index.string(), ": weight_map: ", Json(name), " is not in shard ",
                  file);
        for (const auto& [name, tensor] : shard.tensors)
            check(names.contains(name), path.string(), ": tensor ", Json(name), ": ", index.filename().string(),
                  " does not place it in this shard");
        tensors.merge(shard.tensors);
    }
    return tensors;
}

// model.fp16.safetensors and its like: the Hub's name for weights in another precision. Empty where there is none.
fs::path find_variant(const fs::path& folder) {
    std::set<std::string> variants;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("model.") && name.ends_with(".safetensors")) variants.insert(name);
    }
    if (variants.empty()) return {};
    check(variants.size() == 1, folder.string(), ": no ", single_name,
          ", but more than one variant of it: ", *variants.begin(), " and ", *variants.rbegin(),
          "; rename the one to use");
    return find_file(folder, *variants.begin());
}

TensorMap read_weights(const fs::path& folder) {
    if (const fs::path single = find_file(folder, single_name); !single.empty())
        return read_safetensors(single).tensors;
    if (const fs::path index = find_file(folder, index_name); !index.empty()) return read_shards(folder, index);
    if (const fs::path variant = find_variant(folder); !variant.empty()) return read_safetensors(variant).tensors;
    const bool pickled =
        !find_file(folder, "pytorch_model.bin").empty() || !find_file(folder, "pytorch_model.bin.index.json").empty();
    fail(folder.string(), ": no weights: neither ", single_name, " nor ", index_name, " is there",
         pickled ? "; pytorch_model.bin must be converted to safetensors first" : "");
}

}  // namespace

Config read_config(const fs::path& path) {
    std::error_code error;
    if (!fs::is_directory(path, error)) return read_config_file(path);
    const fs::path file = find_file(path, config_name);
    check(!file.empty(), path.string(), ": no ", config_name, " in this folder");
    return read_config_file(file);
}

Checkpoint open_checkpoint(const fs::path& folder) {
    std::error_code error;
    check(fs::exists(folder, error), folder.string(), ": no such folder");
    check(fs::is_directory(folder, error), folder.string(), ": not a folder");
    return {.folder = folder,
            .config = read_config(folder),
            .generation_config = read_generation_config(folder),
            .tensors = read_weights(folder)};
}

}  // namespace tessera::formats
