// The registration of an objective, at the end of its file, and all that follows from it:
//
//     const RegisterObjective registered{{.name = "causal", .make = make, .needs = models::Capability::Score, …}};
//
// so that a new objective is one file and no list of objectives is kept anywhere.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "tessera/models/capabilities.h"
#include "tessera/training/objectives/objective.h"

namespace tessera::training {

// What an evaluation tells beside the loss and the share of answers that are right (Objective::answers).
enum class Metric : std::uint8_t {
    Perplexity,  // and bits per byte and per character of the texts
    Retrieval,   // how often an image's own text is found among others
    Bleu         // of the model's own translations
};

struct ObjectiveTraits {
    const char* name;
    std::unique_ptr<Objective> (*make)(const ObjectiveInputs&);
    models::Capability needs;  // of the model
    // Whether a model that can do this is judged by this objective where nobody says which.
    bool is_default = false;
    std::vector<Metric> metrics = {};
    // The tessera command to try with what has learned it, DIR its folder.
    const char* next_command = "inspect DIR";
    std::int64_t sentinels = 0;  // <extra_id_…> tokens that a tokenizer made for it has
    // The names of the classes in the recipe's training data, where it teaches classes.
    std::vector<std::string> (*classes)(const Recipe&) = nullptr;
    // What a model must be able to do in place of `needs`, to get a new head for the classes.
    models::Capabilities under_new_head = {};
    bool reads_whole_texts = false;  // an evaluation reads texts as far as the model can, not in windows
    bool packs_windows = false;      // texts are read in windows of data.length, end to end
    // Whether files say by themselves that they are for this objective.
    bool (*recognises)(const std::vector<std::string>& files) = nullptr;

    bool has(Metric metric) const;
};

struct RegisterObjective {
    explicit RegisterObjective(const ObjectiveTraits& traits);
};

const ObjectiveTraits* find_objective(const std::string& name);  // null where there is none of this name
const ObjectiveTraits& objective_of(const Recipe& recipe);       // throws, naming those that there are
// By what a model is judged or fine-tuned where nobody says: a classifier by its classes, a translator by pairs. Null
// where it learns by none. `files`: what it is to learn from, where that is known.
const ObjectiveTraits* default_objective(const models::Model& model, const std::vector<std::string>& files = {});

// The names of the classes in the recipe's training data; none where its objective teaches none.
std::vector<std::string> classes_taught(const Recipe& recipe);

}  // namespace tessera::training
