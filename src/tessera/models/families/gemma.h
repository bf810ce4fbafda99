// Gemma's decoders, for models that give them more than text.
#pragma once

#include "tessera/models/decoder.h"

namespace tessera::models {

std::unique_ptr<Decoder> gemma_decoder(const Config& config);
std::unique_ptr<Decoder> gemma2_decoder(const Config& config);

}  // namespace tessera::models
