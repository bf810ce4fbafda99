#include "tessera/models/sidecar_files.h"

#include "tessera/core/error.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/find_file.h"
#include "tessera/formats/own_files.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/import/gguf_checkpoint.h"
#include "tessera/models/import/llama2c_tokenizer.h"
#include "tessera/models/sentence.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::models {
namespace {

namespace fs = std::filesystem;

fs::path folder_around(const fs::path& weights) {
    return fs::is_directory(weights) ? weights : formats::folder_of(weights);
}

bool holds_tokenizer_files(const fs::path& folder) { return !tokenizers::tokenizer_files(folder).empty(); }

std::vector<fs::path> image_files(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const char* name : {"preprocessor_config.json", "processor_config.json"})
        if (const fs::path file = formats::find_file(folder, name); !file.empty()) files.push_back(file);
    return files;
}

bool is_weights_or_config(const fs::path& file) {
    const std::string name = file.filename(), extension = file.extension();
    return extension == ".safetensors" || extension == ".gguf" || extension == ".bin" || extension == ".pt" ||
           name == "config.json" || name == "model.safetensors.index.json" || name == "pytorch_model.bin.index.json";
}

void copy_if_elsewhere(const fs::path& file, const fs::path& copy) {
    std::error_code error;
    if (!fs::equivalent(file, copy, error)) formats::copy_file(file, copy);
}

}  // namespace

ModelPlace model_place(const fs::path& folder_or_file, const fs::path& adapter) {
    if (!is_adapter_folder(folder_or_file)) {
        check(adapter.empty() || is_adapter_folder(adapter), adapter.string(),
              ": no folder of adapters: it has no adapter_config.json");
        return {.weights = folder_or_file, .adapter = adapter};
    }
    check(adapter.empty(), folder_or_file.string(), ": holds adapters itself; others are put over a base");
    return {.weights = base_of_adapters(folder_or_file), .adapter = folder_or_file};
}

fs::path tokenizer_place(const ModelPlace& place) {
    if (!place.adapter.empty() && holds_tokenizer_files(place.adapter)) return place.adapter;
    const fs::path& weights = place.weights;
    if (fs::is_regular_file(weights) && weights.extension() == ".gguf" && holds_tokenizer(weights)) return weights;
    if (const fs::path folder = folder_around(weights); holds_tokenizer_files(folder)) return folder;
    if (fs::is_regular_file(weights) && weights.extension() == ".bin") return llama2c_tokenizer_beside(weights);
    return {};
}

SidecarFiles sidecar_files(const ModelPlace& place) {
    const fs::path base = folder_around(place.weights);
    SidecarFiles files;
    if (!place.adapter.empty()) files.images = image_files(place.adapter);
    if (files.images.empty()) files.images = image_files(base);
    for (const fs::path& folder : {place.weights, place.adapter})
        if (fs::is_directory(folder) && says_pooling(folder)) files.pooling = folder;
    return files;
}

std::vector<fs::path> files_beside_weights(const fs::path& folder_or_file) {
    std::vector<fs::path> files;
    if (!fs::is_directory(folder_or_file)) return files;
    for (const auto& entry : fs::directory_iterator(folder_or_file))
        if (entry.is_regular_file() && !is_weights_or_config(entry.path()))
            files.push_back(formats::find_file(folder_or_file, entry.path().filename()));
    return files;
}

void SidecarFiles::write_to(const fs::path& folder) const {
    if (!tokenizer.empty()) tokenizers::copy_tokenizer(tokenizer, folder);
    for (const fs::path& file : images) copy_if_elsewhere(file, folder / file.filename());
    if (!image_processor.is_null()) image_processor.write(folder / "preprocessor_config.json");
    if (!pooling.empty()) copy_pooling(pooling, folder);
}

void SidecarFiles::keep_in(const fs::path& folder) {
    formats::remove_own(folder, formats::is_model_file);
    fs::create_directories(folder);
    write_to(folder);
    const bool has_tokenizer = !tokenizer.empty();
    *this = sidecar_files({.weights = folder});
    if (has_tokenizer) tokenizer = folder;
}

}  // namespace tessera::models
