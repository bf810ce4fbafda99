// SigLIP's texts, as the reference's tokenizer and processor make them.
#pragma once

#include "tessera/models/vision/vision.h"

namespace tessera::models {

// Each text's ids with an end-of-text token, cut or padded to the length of the text tower: it has seen no other.
std::vector<tokenizers::Ids> siglip_texts(const Config& config, const std::filesystem::path& folder,
                                          const tokenizers::Tokenizer& tokenizer,
                                          const std::vector<std::string>& texts);

// In lower case if asked for, without ASCII punctuation, and with single spaces.
std::string canonical_text(std::string_view text, bool lower_case);

}  // namespace tessera::models
