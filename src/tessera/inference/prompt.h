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

// An empty text becomes the token that a text begins with.
std::vector<std::int64_t> ids_of(const models::OpenedModel& model, const Prompt& prompt);
// Prompts side by side, where the model is; what an encoder reads comes with the decoder's first token.
models::Batch batch_for(const models::OpenedModel& model, const std::vector<Prompt>& prompts);

}  // namespace tessera::inference
