#include "tessera/data/image_processor.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "tessera/core/error.h"
#include "tessera/core/parallel.h"

namespace tessera::data {
namespace {

using formats::Image;
using formats::ImageProcessorConfig;

// What each of the 256 levels becomes, for each channel: rescaled in double and rounded, then normalised in float.
std::vector<float> table_of(const ImageProcessorConfig& settings) {
    std::vector<float> table;
    for (std::size_t channel = 0; channel < 3; ++channel)
        for (int level = 0; level < 256; ++level) {
            auto value = static_cast<float>(settings.rescales ? level * settings.scale : level);
            if (settings.normalises)
                value = (value - static_cast<float>(settings.mean[channel])) /
                        static_cast<float>(settings.deviation[channel]);
            table.push_back(value);
        }
    return table;
}

// Of an image as the model takes it, three floats each. Settings may ask for squares of this size and no larger ones.
constexpr std::int64_t most_prepared = std::int64_t{1} << 24;

Image prepared(const Image& image, const ImageProcessorConfig& settings) {
    Image out = settings.resizes ? resized(image, settings) : image;
    if (settings.crops) out = middle(out, settings.crop.height, settings.crop.width);
    check(out.width * out.height <= most_prepared, "an image of ", image.width, " × ", image.height,
          " pixels comes out at ", out.width, " × ", out.height, ", past the limit of ", most_prepared, " pixels");
    return out;
}

// Brightness as Pillow's mode L has it (ITU-R 601-2). A grey image stays as it is.
std::uint8_t brightness(const std::uint8_t* pixel) {
    return static_cast<std::uint8_t>((pixel[0] * 19595u + pixel[1] * 38470u + pixel[2] * 7471u + 0x8000u) >> 16);
}

// Halves of differences, downwards also below zero.
std::int64_t floor_half(std::int64_t value) { return value >> 1; }

}  // namespace

Image resized(const Image& image, const ImageProcessorConfig& settings) {
    std::int64_t width = settings.size.width, height = settings.size.height;
    if (const std::int64_t edge = settings.size.shortest_edge; edge > 0) {
        const bool upright = image.width <= image.height;
        const std::int64_t shorter = upright ? image.width : image.height;
        const std::int64_t longer = upright ? image.height : image.width;
        const auto other = static_cast<std::int64_t>(static_cast<double>(edge * longer) / static_cast<double>(shorter));
        width = upright ? edge : other;
        height = upright ? other : edge;
    }
    return formats::resize(image, width, height, settings.resampling);
}

Image middle(const Image& image, std::int64_t height, std::int64_t width) {
    const std::int64_t top = floor_half(image.height - height), left = floor_half(image.width - width);
    const std::int64_t begin = std::max<std::int64_t>(0, -left), end = std::min(width, image.width - left);
    Image out(width, height);
    for (std::int64_t y = 0; y < height; ++y) {
        const std::int64_t line = y + top;
        if (line < 0 || line >= image.height) continue;
        std::memcpy(out.row(y) + begin * 3, image.row(line) + (begin + left) * 3,
                    static_cast<std::size_t>(end - begin) * 3);
    }
    return out;
}

Tensor pixel_values(std::span<const Image> images, const ImageProcessorConfig& settings) {
    check(!images.empty(), "pixel_values: no image");
    const std::vector<float> table = table_of(settings);
    const int channels = settings.grey ? 1 : 3;
    Tensor values;
    for (std::size_t i = 0; i < images.size(); ++i) {
        const Image image = prepared(images[i], settings);
        if (i == 0)
            values = Tensor::empty({static_cast<std::int64_t>(images.size()), channels, image.height, image.width});
        check(image.height == values.size(2) && image.width == values.size(3), "pixel_values: image ", i + 1,
              " comes out at ", image.width, " × ", image.height, " pixels, the first at ", values.size(3), " × ",
              values.size(2), "; they cannot be one batch");
        const std::int64_t plane = image.height * image.width;
        float* to = values.data<float>() + static_cast<std::int64_t>(i) * channels * plane;
        parallel_for(image.height, 32, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t at = begin * image.width; at < end * image.width; ++at) {
                const std::uint8_t* pixel = image.pixels.data() + at * 3;
                for (int c = 0; c < channels; ++c)
                    to[c * plane + at] =
                        table[static_cast<std::size_t>(c * 256 + (settings.grey ? brightness(pixel) : pixel[c]))];
            }
        });
    }
    return values;
}

}  // namespace tessera::data
