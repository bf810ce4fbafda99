// A checkpoint that learns to tell other classes apart: the same model under a new head.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/formats/checkpoint.h"
#include "tessera/models/model.h"
#include "tessera/nn/linear.h"

namespace tessera::models {

// What the model calls the classes it chooses between; none where it chooses between none.
std::vector<std::string> class_names(const Config& config);
// The config of the same model as a classifier of these classes.
Config with_classes(const Config& config, const std::vector<std::string>& names);
// Whether the family has such classifiers.
bool can_classify(const Config& config);

// The checkpoint's tensors in a model of this config; what it lacks, or has in another shape, is random by the seed.
// That may be the head alone.
std::unique_ptr<Model> load_under_head(const formats::Checkpoint& checkpoint, const Config& config, std::uint64_t seed);

// The linear layers of a classifier's head, by the checkpoint's names; none where the model is no classifier.
std::map<std::string, nn::Linear*> head_layers(Model& model);

}  // namespace tessera::models
