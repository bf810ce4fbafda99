// Images as a model sees them: resized, cropped to the middle, rescaled and normalised, in the order and with the
// rounding of Hugging Face's image processors over Pillow and numpy.
#pragma once

#include <span>

#include "tessera/formats/image/image_processor_config.h"
#include "tessera/tensor/tensor.h"

namespace tessera::data {

// (B, 3, H, W), or (B, 1, H, W) in grey, in f32. Images that do not come out at one size are an error.
Tensor pixel_values(std::span<const formats::Image> images, const formats::ImageProcessorConfig& settings);

// The parts of it: still 8-bit.
formats::Image resized(const formats::Image& image, const formats::ImageProcessorConfig& settings);
formats::Image middle(const formats::Image& image, std::int64_t height, std::int64_t width);

}  // namespace tessera::data
