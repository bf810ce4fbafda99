// What models that look at pictures share: how large pictures and patches are.
#pragma once

#include "tessera/formats/config.h"
#include "tessera/tensor/tensor.h"

namespace tessera::models {

struct Pictures {
    std::int64_t size = 224;  // pictures are square
    std::int64_t patch = 16;
    std::int64_t channels = 3;

    std::int64_t patches() const { return (size / patch) * (size / patch); }
    // (B, C, size, size) → without the rows and columns that fill no patch. Pictures of another size are an error.
    Tensor whole_patches(const Tensor& pixel_values) const;
};

Pictures read_pictures(const formats::Config& config);  // image_size, patch_size and num_channels

}  // namespace tessera::models
