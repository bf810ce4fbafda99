// Text token by token: the prompt is read once, then each chosen token is fed back.
#pragma once

#include <functional>
#include <vector>

#include "models/model.h"

namespace tessera::inference {

struct GenerateOptions {
    std::int64_t max_new_tokens = 64;
    std::vector<std::int64_t> stop_ids = {};  // a row ends with the first of these
};

struct Generated {
    std::vector<std::vector<std::int64_t>> tokens;  // per row, the new ones; a stop id is the last of its row
    double read_seconds = 0, step_seconds = 0;      // the prompt, and everything after it
    std::int64_t steps = 0;                         // tokens per row that were fed back
    std::int64_t cache_bytes = 0;
};

// Told each row's newest token; false ends the generation.
using OnToken = std::function<bool(std::size_t row, std::int64_t token)>;

// The most probable token each time. Prompts of different lengths are padded on the left in the batch.
Generated generate_greedy(const models::Model& model, const models::Batch& prompt, const GenerateOptions& options,
                          const OnToken& on_token = {});

// Prompts as one batch, padded on the left.
models::Batch batch_of(const std::vector<std::vector<std::int64_t>>& prompts, std::int64_t padding_id = 0);

}  // namespace tessera::inference
