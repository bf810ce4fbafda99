// Beam search: the most probable texts by keeping the best few beginnings at each step. Scores, the length penalty,
// when a text counts as finished and when the search ends are the reference's (transformers' _beam_search).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tessera/inference/context_rule.h"
#include "tessera/inference/logits_processor.h"
#include "tessera/models/model.h"

namespace tessera::inference {

struct BeamOptions {
    models::BeamSettings beams = {};
    std::int64_t max_new_tokens = 64;
    std::vector<std::int64_t> stop_ids = {};
    models::LogitsRules rules = {};
    ContextRule context = {};
    std::int64_t prefill_chunk = 512;  // tokens of the prompt read at once; 0: all
    std::function<void(std::int64_t done, std::int64_t total)> on_prefill = {};  // told between these parts
    std::function<bool()> is_cancelled = {};  // asked between these parts and between steps; true ends all texts
};

struct BeamText {
    std::vector<std::int64_t> tokens = {};  // the new ones; a stop id is the last
    double score = 0;
    bool fills_context = false;  // there was no room for one more
    bool is_cancelled = false;   // the best beam there was
};

struct BeamResult {
    std::vector<std::vector<BeamText>> texts;  // per row of the prompt
    double prefill_seconds = 0, decode_seconds = 0;
    std::int64_t steps = 0;
    std::int64_t cache_bytes = 0;
};

BeamResult beam_search(const models::Model& model, const models::Batch& prompt, const BeamOptions& options);
// The same where the prompts' tokens are at hand, so that they are not read out of the batch.
BeamResult beam_search(const models::Model& model, const models::Batch& prompt, const std::vector<History>& histories,
                       const BeamOptions& options);
// From the scores after a prompt, (B, V); `histories` are the prompt's tokens, one per row. A text ends where it has
// read `context` tokens; 0: never.
BeamResult beam_search(models::DecodingSession& session, const Tensor& scores, const std::vector<History>& histories,
                       std::int64_t context, const BeamOptions& options);

}  // namespace tessera::inference
