// The Hub's names of a model's parameters: those in its checkpoints, by which recipes freeze them and set their
// rates.
#pragma once

#include <string>
#include <vector>

#include "tessera/models/model.h"

namespace tessera::models {

// A tensor of the model's checkpoints; several of our parameters may be in one.
struct StoredParameter {
    std::string name;
    Shape shape;
};
// In the order in which the model has them. Needs no weights.
std::vector<StoredParameter> stored_parameters(Model& model);

// The checkpoint's name of our parameter; ours where the table has none, and * for the number of stacked experts.
std::string stored_name(const WeightTable& table, const std::string& ours);

// Whether one of the parameter's names (the checkpoint's, or the running reference's) has these parts between its dots,
// next to each other: "q_proj", "layers.0", "model.embed_tokens.weight", "layers.*.mlp" with * for any one part.
bool has_name_part(const WeightTable& table, const std::string& ours, const std::string& part);

// The names with their numbers as *, each once: "model.layers.*.self_attn.q_proj.weight, …".
std::string kinds_of_parameters(nn::Module& module, const WeightTable& table);

}  // namespace tessera::models
