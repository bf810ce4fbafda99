// The one way from prompts to a batch.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tessera/models/opened_model.h"

namespace tessera::inference {

using models::BeamSettings;
using models::EarlyStopping;
using models::GenerationSettings;
using models::most_beams;
using models::NeedsTokenizer;
using models::read_generation_settings;
using TextModel = models::OpenedModel;

inline TextModel open_text_model(const std::filesystem::path& folder_or_file, const std::filesystem::path& tokenizer,
                                 Device device, NeedsTokenizer needs, const std::filesystem::path& adapter = {}) {
    return models::open_model(folder_or_file,
                              {.tokenizer = tokenizer, .adapter = adapter, .device = device, .needs_tokenizer = needs});
}

// One input. Ids are taken as they are; text goes through the tokenizer.
struct Prompt {
    std::string text = {};
    bool is_whole = false;  // a rendered template: it brings the tokens that stand around a text itself
    std::vector<std::int64_t> ids = {};
};

// An empty text becomes the token that a text begins with.
std::vector<std::int64_t> ids_of(const TextModel& model, const Prompt& prompt);
// Prompts side by side, where the model is; what an encoder reads comes with the decoder's first token.
models::Batch batch_for(const TextModel& model, const std::vector<Prompt>& prompts);

}  // namespace tessera::inference
