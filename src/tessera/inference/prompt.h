// Prompts: texts or ids, and the one way from them to a batch.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tessera/models/opened_model.h"

namespace tessera::inference {

// One input. Ids are taken as they are; text goes through the tokenizer.
struct Prompt {
    std::string text = {};
    bool is_whole = false;  // a rendered template: it brings the tokens that stand around a text itself
    std::vector<std::int64_t> ids = {};
};

// An empty text becomes the token that a text begins with. Of a long text that has more than `most` tokens (0: as many
// as it has) no more are found than show it, and PromptTooLong is thrown.
std::vector<std::int64_t> ids_of(const models::OpenedModel& model, const Prompt& prompt, std::int64_t most = 0);
// Prompts side by side, where the model is; what an encoder reads comes with the decoder's first token.
models::Batch batch_for(const models::OpenedModel& model, const std::vector<Prompt>& prompts);
models::Batch batch_for_ids(const models::OpenedModel& model, const std::vector<std::vector<std::int64_t>>& prompts);

}  // namespace tessera::inference
