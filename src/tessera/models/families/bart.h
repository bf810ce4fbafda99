// The parts of BART, for the family that changes what stands before its stacks.
#pragma once

#include "tessera/models/encoder_decoder.h"

namespace tessera::models {

struct BartDefaults {
    std::int64_t vocabulary = 50265;
    std::int64_t decoder_start_id = 2, padding_id = 1;
};

// Everything but positions and norms of the embeddings.
EncoderDecoderParts bart_parts(const Config& config, const BartDefaults& defaults);
WeightTable bart_weights();

}  // namespace tessera::models
