// The files that belong to a model beside its weights: its tokenizer, how its images are prepared, how its hidden
// states are pooled. Where they lie, for every form in which a model comes, and how they go along when it is saved.
#pragma once

#include <filesystem>
#include <vector>

#include "tessera/formats/json.h"

namespace tessera::models {

// A model with its adapters, each empty where there is none. A folder of adapters alone is its base under them.
struct ModelPlace {
    std::filesystem::path weights = {};  // a folder of the Hub's layout, a .gguf or a .bin of llama2.c
    std::filesystem::path adapter = {};  // a folder of PEFT's layout
};
ModelPlace model_place(const std::filesystem::path& folder_or_file, const std::filesystem::path& adapter = {});

// The folder or the file that a model's tokenizer is opened from; empty where it has none. The adapters' own goes
// before the base's, and one inside a .gguf before what lies around it. Beside a .bin of llama2.c one tok*.bin will do.
std::filesystem::path tokenizer_place(const ModelPlace& place);

struct SidecarFiles {
    std::filesystem::path tokenizer = {};            // as tokenizer_place says it, or what was named instead
    std::vector<std::filesystem::path> images = {};  // preprocessor_config.json, processor_config.json
    formats::Json image_processor = {};              // the first of these, where there is neither; null: none is needed
    std::filesystem::path pooling = {};              // the folder that says how sentences are pooled; empty: none does

    void write_to(const std::filesystem::path& folder) const;
    // Copies them into the folder and takes them from there from now on, whatever becomes of where they were.
    void keep_in(const std::filesystem::path& folder);
};

// The adapters' own files go before the base's.
SidecarFiles sidecar_files(const ModelPlace& place);
// All that lies in a folder beside the weights and the config: licence and notes too. None beside a file of weights.
std::vector<std::filesystem::path> files_beside_weights(const std::filesystem::path& folder_or_file);

}  // namespace tessera::models
