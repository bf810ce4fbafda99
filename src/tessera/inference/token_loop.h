// Text token by token: the prompt is read once, in chunks, then each chosen token is fed back.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tessera/inference/context_rule.h"
#include "tessera/inference/prompt_batch.h"
#include "tessera/inference/sampler.h"

namespace tessera::inference {

struct GenerateOptions {
    std::int64_t max_new_tokens = 64;
    std::vector<std::int64_t> stop_ids = {};  // a row ends with the first of these
    models::SamplerSettings sampler = {};     // the most probable token unless asked otherwise
    models::LogitsRules rules = {};
    ContextRule context = {};
    // Whether log-probabilities are wanted: of the chosen token and of so many of the most probable ones.
    std::optional<std::int64_t> log_probabilities = {};
    std::int64_t prefill_chunk = 512;  // tokens of the prompt read at once; 0: all
    std::function<void(std::int64_t done, std::int64_t total)> on_prefill = {};  // told between these parts
    std::function<bool()> is_cancelled = {};  // asked between these parts and between tokens; true ends all rows
};

// StopString: on_token said so. Context: there is no room to read one more token.
enum class Ending { Length, StopId, StopString, Context, Cancelled };

struct NewToken {
    std::size_t row = 0;
    std::int64_t id = 0;
    double log_probability = 0;                   // where asked for
    std::span<const TokenProbability> most = {};  // likewise, by falling probability; valid during the call
};
// Told each row's newest token; false ends the row.
using OnToken = std::function<bool(const NewToken& token)>;

struct Generated {
    std::vector<std::vector<std::int64_t>> tokens;   // per row, the new ones; a stop id is the last of its row
    std::vector<Ending> endings;                     // per row
    double prefill_seconds = 0, decode_seconds = 0;  // the prompt, and everything after it
    std::int64_t steps = 0;                          // how often tokens were fed back
    std::int64_t decoded_tokens = 0;                 // how many tokens those were, all rows together
    std::int64_t forgotten = 0;                      // tokens that shifts of the context left out, all rows together
    std::int64_t cache_bytes = 0;
};

// Prompts of different lengths are padded on the left in the batch. Each row ends by itself.
Generated generate(const models::Model& model, const models::Batch& prompt, const GenerateOptions& options,
                   const OnToken& on_token = {});
// The same where the prompts' tokens are at hand, so that they are not read out of the batch.
Generated generate(const models::Model& model, const models::Batch& prompt, std::vector<History> histories,
                   const GenerateOptions& options, const OnToken& on_token = {});
// The same of texts whose context is shifted, which are read from their tokens alone.
Generated generate_with_shifts(const models::Model& model, Device device, std::vector<History> histories,
                               const GenerateOptions& options, const OnToken& on_token = {});
// The same from the logits after a prompt, (B, V); `histories` are the prompt's tokens, one per row. A row ends where
// it has read `context` tokens; 0: never.
Generated generate(models::DecodingSession& session, Tensor logits, std::vector<History> histories,
                   std::int64_t context, const GenerateOptions& options, const OnToken& on_token = {});

// Reads the prompt into the session in parts, telling on_prefill between them. No logits: it was cancelled.
Tensor prefill(models::DecodingSession& session, const models::Batch& prompt, const GenerateOptions& options);
// What comes of rows that were cancelled before their prompts had been read.
Generated cancelled(std::size_t rows);

}  // namespace tessera::inference
