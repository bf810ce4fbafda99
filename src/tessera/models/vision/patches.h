// Sizes of images and patches.
#pragma once

#include "tessera/formats/config.h"
#include "tessera/tensor/tensor.h"

namespace tessera::models {

struct Images {
    std::int64_t size = 224;  // images are square
    std::int64_t patch = 16;
    std::int64_t channels = 3;

    std::int64_t patches() const { return (size / patch) * (size / patch); }
    // (B, C, size, size) → without the rows and columns that fill no patch. Images of another size are an error.
    Tensor whole_patches(const Tensor& pixel_values) const;
};

Images read_images(const formats::Config& config);  // image_size, patch_size and num_channels

}  // namespace tessera::models
