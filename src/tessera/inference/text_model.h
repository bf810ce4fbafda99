// A model with what it takes to talk to it: its tokenizer and its generation settings. And the one way from prompts to
// a batch.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tessera/inference/generation_settings.h"
#include "tessera/models/model.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::inference {

struct TextModel {
    std::filesystem::path path = {};
    models::Config config = {};
    std::unique_ptr<models::Model> model = {};
    std::shared_ptr<const tokenizers::Tokenizer> tokenizer = {};  // null where there is none
    GenerationSettings settings = {};
    Device device = cpu;

    const tokenizers::Tokenizer& text() const;  // throws where there is no tokenizer
    std::int64_t vocabulary() const;            // of the scores, as far as the files say; 0: they do not
};

enum class NeedsTokenizer { No, Yes };

// A folder of adapters opens its base and applies them; so does `adapter`, where one is named.
// `tokenizer` names a file or folder; empty: where one is needed, it is looked for in the model's folder or file, and
// beside the file.
TextModel open_text_model(const std::filesystem::path& folder_or_file, const std::filesystem::path& tokenizer,
                          Device device, NeedsTokenizer needs, const std::filesystem::path& adapter = {});

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
