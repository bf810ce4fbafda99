// How long a text a model is made for, in tokens: what it was trained on or stretched to. A model with rotary positions
// computes beyond it and says nonsense.
#pragma once

#include "tessera/formats/config.h"

namespace tessera::models {

using formats::Config;

// Of rotary positions that are stretched:
enum class Stretch {
    ByKind,   // linear, dynamic and yarn add to max_position_embeddings, the others have been counted in it
    Counted,  // whatever the kind, it has been counted: so Gemma 3
};

// From max_position_embeddings and the scaling of the rotary positions; 0: nobody says. `fallback`: the default of the
// reference's configuration class, 0 where it has none.
std::int64_t read_context_length(const Config& config, std::int64_t fallback, Stretch stretch = Stretch::ByKind);

}  // namespace tessera::models
