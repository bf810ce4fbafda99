// The start of a run: the recipe's model, and the tokenizer that goes with it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "tessera/models/opened_model.h"
#include "tessera/training/recipe/recipe.h"

namespace tessera::training {

struct InitialModelOptions {
    std::optional<std::filesystem::path> earlier = {};  // a checkpoint of this run to go on from
    Device device = cpu;
    // Where a tokenizer is made, if the recipe asks for one, or that of the recipe's `weights` is kept; a resumed run
    // takes the one that is there. Empty: none is made.
    std::filesystem::path tokenizer_dir = {};
    // What is to be told apart: a checkpoint that knows other classes, or none, gets a new head.
    std::vector<std::string> classes = {};
    std::function<void(const std::string& what, double done, double total)> on_preparation = {};
    std::function<void(const std::vector<std::string>& classes)> on_new_head = {};
};

models::OpenedModel initial_model(const Recipe& recipe, const InitialModelOptions& options);

// The folder of the recipe's model; empty where it is a preset or the config itself.
std::filesystem::path model_folder(const Recipe& recipe);

// About how large a checkpoint with the optimizer's state is.
std::int64_t checkpoint_bytes(const Recipe& recipe, const models::OpenedModel& start);

}  // namespace tessera::training
