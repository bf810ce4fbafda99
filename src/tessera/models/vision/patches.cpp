#include "tessera/models/vision/patches.h"

#include "tessera/core/error.h"
#include "tessera/models/settings.h"
#include "tessera/ops/views.h"

namespace tessera::models {

Tensor Images::whole_patches(const Tensor& pixel_values) const {
    check(pixel_values.defined(), "pixel_values: the model looks at images, but there are none");
    const Shape& shape = pixel_values.shape();
    check(shape.rank() == 4 && shape[1] == channels && shape[2] == size && shape[3] == size,
          "pixel_values: expected (B, ", channels, ", ", size, ", ", size, ") as config.json's image_size says, found ",
          shape);
    const std::int64_t covered = size / patch * patch;
    return ops::slice(ops::slice(pixel_values, 2, 0, covered), 3, 0, covered);
}

Images read_images(const formats::Config& config) {
    const Images defaults;
    const Images images{.size = read_count(config, "image_size", defaults.size),
                        .patch = read_count(config, "patch_size", defaults.patch),
                        .channels = read_count(config, "num_channels", defaults.channels)};
    if (images.patch > images.size)
        config.reject("patch_size", text_of("patches of ", images.patch, " do not fit images of ", images.size));
    const std::int64_t values = images.channels * images.patch * images.patch;
    if (values > size_limit)
        config.reject("num_channels", text_of("a patch of ", images.channels, " times ", images.patch, " × ",
                                              images.patch, " has more than ", size_limit, " values"));
    return images;
}

}  // namespace tessera::models
