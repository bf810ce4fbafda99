#include <algorithm>
#include <cctype>
#include <cstdio>
#include <set>

#include "formats/atomic_file.h"
#include "formats/checkpoint.h"
#include "formats/checkpoint_files.h"

namespace tessera::formats {
namespace {

namespace fs = std::filesystem;

std::string shard_name(std::size_t index, std::size_t count) {
    char name[64];
    std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", index + 1, count);
    return name;
}

// Whether an earlier save could have written a file of this name.
bool holds_weights(const std::string& name) {
    static const std::string pattern = shard_name(0, 1);
    const auto matches = [](char letter, char wanted) {
        return std::isdigit(static_cast<unsigned char>(wanted)) ? std::isdigit(static_cast<unsigned char>(letter)) != 0
                                                                : letter == wanted;
    };
    return name == single_name || name == index_name ||
           std::equal(name.begin(), name.end(), pattern.begin(), pattern.end(), matches);
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
            check(shard_of.emplace(name, shard_name(i, shards.size())).second, folder.string(), ": tensor ", Json(name),
                  ": given twice");
            total += bytes_in(tensor, options);
        }
    Json weight_map = Json::object();
    for (const auto& [name, shard] : shard_of) weight_map.set(name, shard);
    return Json::object()
        .set("metadata", Json::object().set("total_size", total))
        .set("weight_map", std::move(weight_map));
}

// Files under their temporary names, and the names they will have.
class Batch {
   public:
    explicit Batch(fs::path folder) : folder_(std::move(folder)) {}

    void add(const std::string& name, const NamedTensors& tensors, const WriteOptions& options) {
        files_.push_back(stage_safetensors(folder_ / name, tensors, options.metadata, options.tensors));
        names_.insert(name);
    }

    void add(const std::string& name, const Json& json) {
        files_.emplace_back(folder_ / name).write(text_of(json.dump(), "\n"));
        files_.back().finish();
        names_.insert(name);
    }

    void commit() {
        for (AtomicFile& file : files_) file.commit();
    }

    void remove_stale_weights() const {
        std::error_code error;
        std::vector<fs::path> stale;
        for (const auto& entry : fs::directory_iterator(folder_, error)) {
            const std::string name = entry.path().filename();
            if (holds_weights(name) && !names_.contains(name)) stale.push_back(entry.path());
        }
        for (const fs::path& path : stale) {
            fs::remove(path, error);
            check(!error, path.string(), ": cannot remove what an earlier save left: ", error.message());
        }
    }

   private:
    fs::path folder_;
    std::vector<AtomicFile> files_;
    std::set<std::string> names_;
};

}  // namespace

void write_checkpoint(const fs::path& folder, const Json& config, const NamedTensors& tensors,
                      const WriteOptions& options) {
    check(config.is_object(), folder.string(), ": ", config_name, ": expected an object, found ", config);
    check(options.max_shard_bytes > 0, folder.string(), ": shards of at most ", options.max_shard_bytes, " bytes");
    std::error_code error;
    fs::create_directories(folder, error);
    check(!error, folder.string(), ": cannot create the folder: ", error.message());

    const std::vector<NamedTensors> shards = cut(tensors, options);
    Batch batch(folder);
    if (shards.size() == 1) {
        batch.add(single_name, tensors, options);
    } else {
        const Json index = index_of(folder, shards, options);
        for (std::size_t i = 0; i < shards.size(); ++i) batch.add(shard_name(i, shards.size()), shards[i], options);
        batch.add(index_name, index);
    }
    batch.add(config_name, config);
    if (!options.generation_config.is_null()) batch.add(generation_config_name, options.generation_config);
    batch.commit();
    batch.remove_stale_weights();
}

}  // namespace tessera::formats
