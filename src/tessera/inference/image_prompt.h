// Texts about images as a batch that a model continues.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tessera/formats/image/image.h"
#include "tessera/models/opened_model.h"

namespace tessera::inference {

struct ImagePrompts {
    std::vector<tokenizers::Ids> ids = {};  // each text's tokens, the images' among them
    models::Batch batch = {};               // padded on the left, with the pixel_values of every row
};

// Every text is about all of the images. Throws where the model does not continue texts about images.
ImagePrompts image_prompts(const models::OpenedModel& model, std::span<const std::string> texts,
                           std::span<const formats::Image> images);
// Each text is about one image, its own: as many images as texts.
ImagePrompts prompts_with_own_image(const models::OpenedModel& model, std::span<const std::string> texts,
                                    std::span<const formats::Image> images);

}  // namespace tessera::inference
