// The defaults of the reference's image processors, which its writers may leave out.
#pragma once

#include "tessera/formats/image/image_processor_config.h"

namespace tessera::models {

formats::PictureSettings vit_pictures();
formats::PictureSettings deit_pictures();
formats::PictureSettings clip_pictures();
formats::PictureSettings siglip_pictures();

// The same, for square pictures of this size.
formats::PictureSettings with_size(formats::PictureSettings settings, std::int64_t size);

}  // namespace tessera::models
