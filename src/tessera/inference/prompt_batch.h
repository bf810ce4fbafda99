// Prompts as the batch that a model reads, and as the histories that rules and samplers look at.
#pragma once

#include <vector>

#include "tessera/core/error.h"
#include "tessera/inference/logits_processor.h"
#include "tessera/models/model.h"

namespace tessera::inference {

// Prompts as one batch, padded on the left; for an encoder, on the right.
enum class Side { Left, Right };
models::Batch batch_of(const std::vector<std::vector<std::int64_t>>& prompts, std::int64_t padding_id = 0,
                       Side side = Side::Left);

// Of what the text goes on from: the prompt, or the beginning of the text beside an encoder.
std::int64_t prompt_length(const models::Model& model, const models::Batch& prompt);
std::vector<History> histories_of(const models::Model& model, const models::Batch& prompt);
// The same where the ids are at hand; what a decoder beside an encoder begins with stands in the batch.
std::vector<History> histories_of(const models::Model& model, const models::Batch& prompt,
                                  const std::vector<std::vector<std::int64_t>>& ids);
// Of ids alone, which become the histories.
std::vector<History> histories_of(std::vector<std::vector<std::int64_t>> prompts);

// Thrown where a prompt does not fit into the context. `is_all`: whether all of its tokens were counted.
class PromptTooLong : public Error {
   public:
    PromptTooLong(std::int64_t tokens, std::int64_t context, bool is_all = true);
    std::string count() const;  // "300", "more than 65536"
    std::int64_t tokens, context;
    bool is_all;
};

// `wanted`, or fewer where every row reaches the context (0: none) before. The last token is chosen where no position
// is left to read it at. Throws PromptTooLong.
std::int64_t fitting_new_tokens(const std::vector<History>& prompts, std::int64_t context, std::int64_t wanted);

}  // namespace tessera::inference
