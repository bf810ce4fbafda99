// Resizing as Pillow does it (its Resample.c), to the bit: each output pixel is a weighted mean of the input pixels
// under a filter that is stretched by the reduction, so that nothing aliases; first along rows, then along columns, in
// fixed point.
#pragma once

#include "tessera/formats/image/image.h"

namespace tessera::formats {

// Numbered as in Pillow and in preprocessor_config.json.
enum class Resampling : std::uint8_t { Nearest = 0, Lanczos = 1, Bilinear = 2, Bicubic = 3, Box = 4, Hamming = 5 };

Image resize(const Image& image, std::int64_t width, std::int64_t height, Resampling resampling);

}  // namespace tessera::formats
