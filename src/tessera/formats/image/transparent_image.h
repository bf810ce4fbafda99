// An image with its transparency, to be laid over another: read from the same files as any image (formats/image.h).
#pragma once

#include "tessera/formats/image/image.h"

namespace tessera::formats {

struct TransparentImage {
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::vector<std::uint8_t> pixels = {};  // (height, width, 4): red, green, blue, alpha; 255 is opaque

    TransparentImage() = default;
    TransparentImage(std::int64_t width, std::int64_t height);  // nothing but transparent

    std::uint8_t* row(std::int64_t y) { return pixels.data() + y * width * 4; }
    const std::uint8_t* row(std::int64_t y) const { return pixels.data() + y * width * 4; }
    bool operator==(const TransparentImage&) const = default;
};

TransparentImage read_transparent_image(const std::filesystem::path& path, const ImageLimits& limits = {});
TransparentImage decode_transparent_image(std::span<const std::byte> bytes, const std::string& source,
                                          const ImageLimits& limits = {});

}  // namespace tessera::formats
