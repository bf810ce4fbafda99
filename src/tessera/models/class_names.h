// The classes that a classifier chooses between, as config.json tells them.
#pragma once

#include <string>
#include <vector>

#include "tessera/formats/config.h"

namespace tessera::models {

std::int64_t read_class_count(const formats::Config& config);  // of id2label, else num_labels, else 2
std::vector<std::string> read_class_names(const formats::Config& config,
                                          std::int64_t count);  // LABEL_0, … where unnamed

// Whether a class is called by its number and nothing else.
bool is_class_number(const std::string& name);

}  // namespace tessera::models
