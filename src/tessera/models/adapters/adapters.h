// LoRA adapters of a whole model, under the Hub's names of its linear layers, in the folder that PEFT writes:
//
//     adapter_config.json         {"peft_type": "LORA", "r": …, "lora_alpha": …, "target_modules": […], …}
//     adapter_model.safetensors   base_model.model.NAME.lora_A.weight (rank, in) and .lora_B.weight (out, rank)
//
// A classifier's head learns whole beside them and is kept as "modules_to_save" are, base_model.model.NAME.weight and
// .bias; a config.json in the folder names its classes.
//
// A layer that the checkpoint keeps fused (one matrix for queries, keys and values) is adapted as the Hub's one layer:
// our parts share A, and each has its rows of B.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tessera/core/error.h"
#include "tessera/formats/checkpoint.h"
#include "tessera/models/model.h"

namespace tessera::models {

// The base of adapters does not lie where they say.
class NoBase : public Error {
   public:
    using Error::Error;
};

struct AdapterSettings {
    std::int64_t rank = 16;
    double alpha = 32;
    double dropout = 0;  // of what adapters see, in training alone
    // As PEFT reads them: a layer's whole name or its end ("q_proj"); "all-linear": all but the output layer, and
    // beside experts the attention alone.
    std::vector<std::string> targets = {"all-linear"};
    bool head = false;  // a classifier's head learns whole
};

// New adapters, which change nothing yet. A target that matches no layer is an error that lists the layers.
void attach_adapters(Model& model, const AdapterSettings& settings, RandomKey key);
bool has_adapters(Model& model);
// Freezes all but the adapters, and the head of a classifier that learns.
void let_adapters_learn(Model& model, bool and_head);
// Adds the adapters to the weights: a plain model again. Throws where a weight is no longer finite.
void merge_adapters(Model& model);

bool is_adapter_folder(const std::filesystem::path& path);
// `base` is where the model came from.
void save_adapters(Model& model, const AdapterSettings& settings, const std::string& base,
                   const std::filesystem::path& folder);
// What the folder's adapters were made with. Throws where they are not all of one rank and one scale: those cannot be
// written again.
AdapterSettings read_adapter_settings(const std::filesystem::path& folder);
// Attaches what the folder holds. An adapter of a kind or for a layer that is not known is refused by name.
void apply_adapters(Model& model, const std::filesystem::path& folder);
// The base under the adapters, and under the head that the folder brings.
std::unique_ptr<Model> load_adapted(const formats::Checkpoint& base, const std::filesystem::path& folder);
Config adapted_config(const Config& base, const std::filesystem::path& folder);
// Where the folder says its base lies; an error where nothing lies there.
std::filesystem::path base_of_adapters(const std::filesystem::path& folder);

}  // namespace tessera::models
