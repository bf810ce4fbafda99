// The defaults of the reference's image processors, which its writers may leave out.
#pragma once

#include "tessera/formats/image/image_processor_config.h"

namespace tessera::models {

formats::ImageProcessorConfig vit_images();
formats::ImageProcessorConfig deit_images();
formats::ImageProcessorConfig clip_images();
formats::ImageProcessorConfig siglip_images();

// The same, for square images of this size.
formats::ImageProcessorConfig with_size(formats::ImageProcessorConfig settings, std::int64_t size);

}  // namespace tessera::models
