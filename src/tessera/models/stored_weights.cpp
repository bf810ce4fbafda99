#include "tessera/models/stored_weights.h"

#include <algorithm>
#include <map>

#include "tessera/formats/gguf.h"
#include "tessera/models/catalog.h"

namespace tessera::models {
namespace {

namespace fs = std::filesystem;

// A folder's weights are called model.safetensors, model.fp16.safetensors or model.safetensors.index.json.
bool has_model_weights(const fs::path& path) {
    std::error_code error;
    if (!fs::is_directory(path, error)) return fs::is_regular_file(path, error) && path.extension() != ".json";
    for (auto entry = fs::directory_iterator(path, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (name.starts_with("model.") && name.find(".safetensors") != name.npos) return true;
    }
    return false;
}

}  // namespace

bool has_weights(const fs::path& path) {
    if (!fs::is_directory(path)) return path.extension() == ".gguf" || path.extension() == ".bin";
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(path, error))
        if (entry.path().extension() == ".safetensors") return true;
    return false;
}

std::vector<StoredWeights> stored_weights(const fs::path& path) {
    if (!has_model_weights(path)) return {};
    std::map<std::string, StoredWeights> by_dtype;
    const auto count = [&](const std::string& dtype, const Tensor& tensor, std::int64_t bytes) -> StoredWeights& {
        StoredWeights& stored = by_dtype[dtype];
        stored.dtype = dtype;
        ++stored.tensors;
        stored.elements += tensor.elements();
        stored.bytes += bytes;
        return stored;
    };
    const auto count_readable = [&](const Tensor& tensor) {
        count(std::string(name(tensor.dtype())), tensor, bytes_of(tensor.dtype(), tensor.elements()));
    };
    if (path.extension() != ".gguf") {
        for (const auto& [name, tensor] : open(path).tensors) count_readable(tensor);
    } else {
        // As the file has them: opened as a checkpoint, some tensors change their dtype.
        const formats::Gguf gguf = formats::read_gguf(path);
        for (const auto& [name, tensor] : gguf.tensors)
            if (const auto unreadable = gguf.unreadable.find(name); unreadable != gguf.unreadable.end())
                count(unreadable->second.type, tensor, unreadable->second.bytes.value_or(0)).is_readable = false;
            else
                count_readable(tensor);
    }
    std::vector<StoredWeights> all;
    for (const auto& [dtype, stored] : by_dtype) all.push_back(stored);
    std::stable_sort(all.begin(), all.end(),
                     [](const StoredWeights& a, const StoredWeights& b) { return a.bytes > b.bytes; });
    return all;
}

}  // namespace tessera::models
