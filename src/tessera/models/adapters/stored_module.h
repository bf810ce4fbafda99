// The Hub's name of one of our modules, by which adapters are named.
#pragma once

#include <optional>
#include <string>

#include "tessera/models/weights.h"

namespace tessera::models {

struct StoredModule {
    std::string name;  // "model.layers.0.self_attn.q_proj"; several of ours may share it (WeightTransform::part)
    WeightTransform transform;
};

// Nothing where the checkpoint keeps the module's tensors under names that belong to no module of its own.
std::optional<StoredModule> stored_module(const WeightTable& table, const std::string& ours);

// The module's name in the running reference, which is not always the checkpoint's.
std::string module_alias(const WeightTable& table, const std::string& name);
// Its name in the newest version, by all aliases that the table knows.
std::string newest_name(const WeightTable& table, const std::string& name);

// Whether `end` is one of these names of the module, or what one of them ends with after a dot.
bool is_called(const WeightTable& table, const std::string& name, const std::string& end);

}  // namespace tessera::models
