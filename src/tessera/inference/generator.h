// Text token by token: the prompt is read once, in chunks, then each chosen token is fed back.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tessera/inference/context_rule.h"
#include "tessera/inference/logits_processor.h"
#include "tessera/inference/sampler.h"
#include "tessera/models/model.h"

namespace tessera::inference {

struct GenerateOptions {
    std::int64_t max_new_tokens = 64;
    std::vector<std::int64_t> stop_ids = {};  // a row ends with the first of these
    SamplerSettings sampler = {};             // the most probable token unless asked otherwise
    LogitsRules rules = {};
    ContextRule context = {};
    // Whether log-probabilities are wanted: of the chosen token and of so many of the most probable ones.
    std::optional<std::int64_t> log_probabilities = {};
    std::int64_t prefill_chunk = 512;  // tokens of the prompt read at once; 0: all
    std::function<void(std::int64_t done, std::int64_t total)> on_prefill = {};  // told between these parts
};

// asked: on_token said so; context: there is no room to read one more token
enum class Ending { Length, StopId, Asked, Context };

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
// The same from the logits after a prompt, (B, V); `histories` are the prompt's tokens, one per row. A row ends where
// it has read `context` tokens; 0: never.
Generated generate(models::DecodingSession& session, Tensor logits, std::vector<History> histories,
                   std::int64_t context, const GenerateOptions& options, const OnToken& on_token = {});

// Prompts as one batch, padded on the left; for an encoder, on the right.
enum class Side { Left, Right };
models::Batch batch_of(const std::vector<std::vector<std::int64_t>>& prompts, std::int64_t padding_id = 0,
                       Side side = Side::Left);

std::int64_t prompt_length(const models::Model& model, const models::Batch& prompt);
std::vector<History> histories_of(const models::Model& model, const models::Batch& prompt);
// `wanted`, or fewer where every row reaches the context (0: none) before. The last token is chosen where no position
// is left to read it at. Throws where a prompt is longer than the context.
std::int64_t fitting_new_tokens(const std::vector<History>& prompts, std::int64_t context, std::int64_t wanted);

}  // namespace tessera::inference
