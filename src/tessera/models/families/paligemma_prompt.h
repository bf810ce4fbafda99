// PaliGemma's prompts, as the reference's processor writes them.
#pragma once

#include "tessera/models/vision/vision.h"

namespace tessera::models {

std::int64_t paligemma_image_token(const Config& config);

//     <image> … <image> <bos> text \n | answer <eos>
// As many image tokens as an image has patches, for each image; the beginning-of-text token follows the last of
// them, wherever the text puts it. With an answer, the types say where it begins.
PromptTokens paligemma_prompt(const Config& config, const tokenizers::Tokenizer& tokenizer, const ImagePrompt& prompt);

}  // namespace tessera::models
