// A vision family beyond its weights: how images are prepared, where they stand
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

// A text about images; `<image>` in it says where they stand, else they come first.
struct ImagePrompt {
    std::string_view text;
    std::int64_t images = 1;
    std::optional<std::string_view> answer = {};  // to be learned
};

struct PromptTokens {
    tokenizers::Ids ids = {};
    tokenizers::Ids types = {};  // token_type_ids: 0 in the prompt, 1 in the answer
};

struct Vision {
    // How images are prepared where the folder does not say.
    formats::ImageProcessorConfig (*images)(const Config& config);
    // The reference's classes that prepare images so, and texts beside them.
    const char* image_processor = nullptr;
    const char* processor = nullptr;
    // How many tokens of a prompt an image takes.
    std::int64_t (*tokens)(const Config& config) = nullptr;
    // Where the model chooses between classes: their names; none for a checkpoint without its last layer.
    std::vector<std::string> (*classes)(const Config& config) = nullptr;
    // Where the model continues a text about images.
    PromptTokens (*prompt)(const Config& config, const tokenizers::Tokenizer& tokenizer,
                           const ImagePrompt& prompt) = nullptr;
    // Where the model compares images with texts: each text's ids, all of one length.
    std::vector<tokenizers::Ids> (*texts)(const Config& config, const std::filesystem::path& folder,
                                          const tokenizers::Tokenizer& tokenizer,
                                          const std::vector<std::string>& texts) = nullptr;
};

// Of the model's folder: processor_config.json or preprocessor_config.json, completed by the defaults of the processor
// it names; without either, what the family itself says. Throws where the model looks at no images.
formats::ImageProcessorConfig image_processor_config(const std::filesystem::path& folder, const Config& config);
// The preprocessor_config.json of a folder for this model, which says what the family says; null where the reference
// has no processor for it, or it looks at no images.
formats::Json image_processor_json(const Config& config);

}  // namespace tessera::models
