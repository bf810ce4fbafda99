// What a family that looks at pictures tells of itself beyond its weights: how pictures are prepared, where they stand
// in a prompt, and how texts are put beside them. Each part is there only where the family has it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/formats/image/image_processor_config.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::models {

using formats::Config;

// A text about pictures; `<image>` in it says where they stand, else they come first.
struct PicturePrompt {
    std::string_view text;
    std::int64_t pictures = 1;
    std::optional<std::string_view> answer = {};  // to be learned
};

struct PromptTokens {
    tokenizers::Ids ids = {};
    tokenizers::Ids types = {};  // token_type_ids: 0 in the prompt, 1 in the answer
};

struct Vision {
    // How pictures are prepared where the folder does not say.
    formats::PictureSettings (*pictures)(const Config& config);
    // The reference's classes that prepare pictures so, and texts beside them.
    const char* image_processor = nullptr;
    const char* processor = nullptr;
    // How many tokens of a prompt a picture takes.
    std::int64_t (*tokens)(const Config& config) = nullptr;
    // Where the model chooses between classes: their names; none for a checkpoint without its last layer.
    std::vector<std::string> (*classes)(const Config& config) = nullptr;
    // Whether what the model gives is the picture again.
    bool rebuilds = false;
    // Where the model continues a text about pictures.
    PromptTokens (*prompt)(const Config& config, const tokenizers::Tokenizer& tokenizer,
                           const PicturePrompt& prompt) = nullptr;
    // Where the model compares pictures with texts: each text's ids, all of one length.
    std::vector<tokenizers::Ids> (*texts)(const Config& config, const std::filesystem::path& folder,
                                          const tokenizers::Tokenizer& tokenizer,
                                          const std::vector<std::string>& texts) = nullptr;
};

// Of the model's folder: processor_config.json or preprocessor_config.json, completed by the defaults of the processor
// it names; without either, what the family itself says. Throws where the model looks at no pictures.
formats::PictureSettings picture_settings(const std::filesystem::path& folder, const Config& config);
// The preprocessor_config.json of a folder for this model, which says what the family says; null where the reference
// has no processor for it, or it looks at no pictures.
formats::Json picture_processor(const Config& config);

}  // namespace tessera::models
