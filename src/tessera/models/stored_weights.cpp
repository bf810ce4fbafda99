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
    std::map<DType, StoredWeights> by_dtype;
    const auto count = [&](const auto& tensors) {
        for (const auto& [name, tensor] : tensors) {
            StoredWeights& stored = by_dtype[tensor.dtype()];
            stored.dtype = tensor.dtype();
            ++stored.tensors;
            stored.elements += tensor.elements();
            stored.bytes += bytes_of(tensor.dtype(), tensor.elements());
        }
    };
    // As the file has them: opened as a checkpoint, some tensors change their dtype.
    if (path.extension() == ".gguf")
        count(formats::read_gguf(path).tensors);
    else
        count(open(path).tensors);
    std::vector<StoredWeights> all;
    for (const auto& [dtype, stored] : by_dtype) all.push_back(stored);
    std::stable_sort(all.begin(), all.end(),
                     [](const StoredWeights& a, const StoredWeights& b) { return a.bytes > b.bytes; });
    return all;
}

}  // namespace tessera::models
