#include "models/stored_weights.h"

#include <algorithm>
#include <map>

#include "formats/gguf.h"
#include "models/catalog.h"

namespace tessera::models {
namespace {

namespace fs = std::filesystem;

bool has_weights(const fs::path& path) {
    std::error_code error;
    if (!fs::is_directory(path, error)) return fs::is_regular_file(path, error) && path.extension() != ".json";
    return fs::exists(path / "model.safetensors", error) || fs::exists(path / "model.safetensors.index.json", error);
}

}  // namespace

std::vector<StoredWeights> stored_weights(const fs::path& path) {
    if (!has_weights(path)) return {};
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
