// Texts about images as a batch that a model continues.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tessera/formats/image/image.h"
#include "tessera/models/model.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::inference {

struct ImagePrompts {
    std::vector<tokenizers::Ids> ids = {};  // each text's tokens, the images' among them
    models::Batch batch = {};               // padded on the left, with the pixel_values of every row
};

// Every text is about all of the images. `folder` is the model's, which says how images are prepared. Throws where
// the model does not continue texts about images.
ImagePrompts image_prompts(const std::filesystem::path& folder, const models::Config& config,
                           const tokenizers::Tokenizer& tokenizer, std::span<const std::string> texts,
                           std::span<const formats::Image> images, Device device);
// Each text is about one image, its own: as many images as texts.
ImagePrompts prompts_with_own_image(const std::filesystem::path& folder, const models::Config& config,
                                    const tokenizers::Tokenizer& tokenizer, std::span<const std::string> texts,
                                    std::span<const formats::Image> images, Device device);

}  // namespace tessera::inference
