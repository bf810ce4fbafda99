// What a run starts from: the recipe's model, its tokenizer, and the files that go wherever the model goes.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tessera/models/model.h"
#include "tessera/tokenizers/tokenizer.h"
#include "tessera/training/recipe/recipe.h"

namespace tessera::training {

struct InitialModel {
    std::unique_ptr<models::Model> model = {};
    std::shared_ptr<const tokenizers::Tokenizer> tokenizer = {};  // null where there is none
    std::filesystem::path tokenizer_place = {};                   // the folder or file that it was opened from
    std::vector<std::filesystem::path> sidecar_files = {};        // files that say how images are prepared
    std::vector<std::string> new_head = {};                       // its classes, where the checkpoint knew others
    formats::Json image_processor_json = {};                      // written where no companion says it; null: nothing
    std::optional<models::AdapterSettings> lora = {};             // where only adapters learn
    std::string base = {};                                        // what the adapters stand beside

    // The weights, or the adapters alone, and the sidecar_files.
    void save(const std::filesystem::path& folder) const;
    // Throws where something that goes with the weights could not be written, and keeps it in the folder from now on:
    // whatever becomes of the files that it is from, the run can be saved.
    void keep_sidecar_files(const std::filesystem::path& folder);
    std::filesystem::path kept_sidecar_files = {};
};

struct InitialModelOptions {
    std::optional<std::filesystem::path> earlier = {};  // a checkpoint of this run to go on from
    Device device = cpu;
    // Where a tokenizer is made, if the recipe asks for one, or that of the recipe's `weights` is kept; a resumed run
    // takes the one that is there. Empty: none is made.
    std::filesystem::path tokenizer_dir = {};
    // What is to be told apart: a checkpoint that knows other classes, or none, gets a new head.
    std::vector<std::string> classes = {};
    std::function<void(const std::string& what, double done, double total)> on_preparation = {};
};

InitialModel initial_model(const Recipe& recipe, const InitialModelOptions& options);

// The folder of the recipe's model; empty where it is a preset or the config itself.
std::filesystem::path model_folder(const Recipe& recipe);
// Copies what goes with a model, a folder or a file: its tokenizer, and how images are prepared, where it has any.
void copy_sidecar_files(const std::filesystem::path& model, const std::filesystem::path& to);

// About how large a checkpoint with the optimizer's state is.
std::int64_t checkpoint_bytes(const Recipe& recipe, const InitialModel& start);

}  // namespace tessera::training
