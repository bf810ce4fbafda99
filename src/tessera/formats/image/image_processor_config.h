// How images are prepared for a model: preprocessor_config.json, or the image_processor within the newer
// processor_config.json, in the fields of Hugging Face's image processors.
#pragma once

#include <array>

#include "tessera/formats/config.h"
#include "tessera/formats/image/resize.h"

namespace tessera::formats {

struct ImageSize {
    std::int64_t height = 0, width = 0;
    std::int64_t shortest_edge = 0;  // instead of the two: this long, and the other edge in proportion

    bool operator==(const ImageSize&) const = default;
};

struct ImageProcessorConfig {
    bool grey = false;  // one channel, of brightness; else red, green and blue
    bool resizes = true;
    ImageSize size = {.height = 224, .width = 224};
    Resampling resampling = Resampling::Bicubic;
    bool one_number_is_square = true;  // what "size": 224 means: a square, or the shortest edge
    bool crops = false;                // the middle, padded with black where the image is smaller
    ImageSize crop = {.height = 224, .width = 224};
    bool rescales = true;
    double scale = 1 / 255.0;
    bool normalises = true;
    std::array<double, 3> mean = {0.5, 0.5, 0.5};
    std::array<double, 3> deviation = {0.5, 0.5, 0.5};

    bool operator==(const ImageProcessorConfig&) const = default;
};

// Fields that are not there are as in `defaults`. What we could not follow is an error.
ImageProcessorConfig read_image_processor_config(const Config& config, const ImageProcessorConfig& defaults);
// The fields of a processor that prepares images so.
Json written(const ImageProcessorConfig& settings);

}  // namespace tessera::formats
