// How a model wants to be asked: generation_config.json, or the same fields of config.json in older folders. Fallbacks
// are the reference's.
#pragma once

#include <optional>

#include "tessera/formats/checkpoint.h"
#include "tessera/inference/beam_search.h"
#include "tessera/inference/logits_processor.h"
#include "tessera/inference/sampler.h"

namespace tessera::inference {

struct GenerationSettings {
    SamplerSettings sampler = {};
    LogitsRules rules = {};
    BeamSettings beams = {};
    std::vector<std::int64_t> stop_ids = {};          // eos_token_id, one or several
    std::optional<std::int64_t> max_new_tokens = {};  // after the prompt
    std::optional<std::int64_t> max_length = {};      // with the prompt (of a decoder beside an encoder: its start)
    std::optional<std::int64_t> bos = {}, padding = {}, decoder_start = {};

    // How many tokens may follow a prompt of so many, where nobody asked for a number.
    std::int64_t most_new_tokens(std::int64_t prompt, std::int64_t fallback) const;
};

GenerationSettings read_generation_settings(const formats::Config& generation_config, const formats::Config& config);

}  // namespace tessera::inference
