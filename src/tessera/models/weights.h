// A model's table of weight names as data: what a checkpoint calls each of our parameters, and what must be done to it
// once at load (and undone at save). One table serves loading, saving and naming gradients.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/formats/safetensors.h"
#include "tessera/nn/module.h"

namespace tessera::models {

// How the checkpoint stores a tensor differently from us.
struct WeightTransform {
    bool transposed = false;  // matrices as (in, out)
    // One of several of ours that the checkpoint keeps in one tensor, row under row: which of them, from 0. With
    // several groups the rows alternate: group 0's part 0, part 1, …, then group 1's.
    int part = -1;
    std::int64_t groups = 1;
    bool stacked = false;  // ours (E, …) are E tensors of theirs, numbered by the last * of their name
};

struct WeightName {
    std::string ours;    // "layers.*.attention.query": a module or a tensor, with * for a number
    std::string theirs;  // "model.layers.*.self_attn.q_proj": the same numbers in the same order
    WeightTransform transform = {};
};

struct WeightTable {
    std::vector<WeightName> names;
    // Tensors of checkpoints that are no parameters (a mask, a table of frequencies), with * for anything.
    std::vector<std::string> ignored = {};
    // What the reference calls the modules while they run, and adapters are named by, where checkpoints kept older
    // names: parts of names → as here. Replaced before anything is looked up; the other way round from the last on.
    std::vector<std::pair<std::string, std::string>> module_aliases = {};
    // Parts of names as other versions of the reference write them → as here; replaced after those.
    std::vector<std::pair<std::string, std::string>> aliases = {};
    // Tensors that checkpoints may lack; the model is built with values for them.
    std::vector<std::string> optional = {};
    // A prefix that checkpoints of the bare model lack.
    std::string optional_prefix = {};
};

// Adds a part's names to the whole's, each behind a prefix; what either ignores is ignored.
void add_part(WeightTable& whole, const WeightTable& part, const std::string& ours, const std::string& theirs);

// The name that this table uses for a checkpoint's tensor.
std::string canonical_name(const WeightTable& table, const std::string& name);

// Fills every parameter of the module. Strict: every tensor is used and every parameter filled, or one error lists both
// sides. Nothing is copied unless the transform demands it.
void load_weights(nn::Module& module, const WeightTable& table, const formats::TensorMap& tensors,
                  const std::string& source);

// Every parameter (or what `value_of` makes of it: its gradient, say) under the checkpoint's names, sorted by name.
// Where value_of gives an undefined tensor for a parameter, its checkpoint tensor is left out.
using ValueOf = std::function<Tensor(const Tensor& parameter)>;
std::vector<std::pair<std::string, Tensor>> checkpoint_tensors(nn::Module& module, const WeightTable& table,
                                                               const ValueOf& value_of);

}  // namespace tessera::models
