// Texts about pictures as a batch that a model continues.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tessera/formats/image/image.h"
#include "tessera/models/model.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::inference {

struct PicturePrompts {
    std::vector<tokenizers::Ids> ids = {};  // each text's tokens, the pictures' among them
    models::Batch batch = {};               // padded on the left, with the pixel_values of every row
};

// Every text is about all of the pictures. `folder` is the model's, which says how pictures are prepared. Throws where
// the model does not continue texts about pictures.
PicturePrompts picture_prompts(const std::filesystem::path& folder, const models::Config& config,
                               const tokenizers::Tokenizer& tokenizer, std::span<const std::string> texts,
                               std::span<const formats::Image> pictures, Device device);
// Each text is about one picture, its own: as many pictures as texts.
PicturePrompts prompts_with_own_picture(const std::filesystem::path& folder, const models::Config& config,
                                        const tokenizers::Tokenizer& tokenizer, std::span<const std::string> texts,
                                        std::span<const formats::Image> pictures, Device device);

}  // namespace tessera::inference
