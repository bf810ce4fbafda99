// Filling the gaps of a text with a masked language model.
#pragma once

#include <string>
#include <vector>

#include "tessera/models/opened_model.h"

namespace tessera::inference {

struct Filler {
    std::int64_t id = 0;
    std::string token;
    double probability = 0;
    std::string text;  // the whole text with this gap filled; other gaps stay
};

// Per gap, in the text's order, the `count` most probable tokens.
std::vector<std::vector<Filler>> fill_mask(const models::OpenedModel& model, const std::string& text,
                                           std::int64_t count);

}  // namespace tessera::inference
