// A picture in memory, and the files it comes from: PNG, JPEG, WebP and GIF (its first frame), told apart by their
// first bytes. All become 8-bit RGB as Pillow makes it, turned as their EXIF orientation says, with whatever is
// transparent laid over white. Pictures come from strangers: size and pixels are checked against limits before anything
// is decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tessera::formats {

struct Image {
    std::int64_t width = 0;
    std::int64_t height = 0;
    std::vector<std::uint8_t> pixels = {};  // (height, width, 3): red, green, blue

    Image() = default;
    Image(std::int64_t width, std::int64_t height);  // black

    std::uint8_t* row(std::int64_t y) { return pixels.data() + y * width * 3; }
    const std::uint8_t* row(std::int64_t y) const { return pixels.data() + y * width * 3; }
    bool operator==(const Image&) const = default;
};

struct ImageLimits {
    std::size_t bytes = std::size_t{256} << 20;
    std::int64_t pixels = 178'956'970;  // where Pillow refuses too
};

Image read_image(const std::filesystem::path& path, const ImageLimits& limits = {});
// `source` is what errors name: the path of the file, say.
Image decode_image(std::span<const std::byte> bytes, const std::string& source, const ImageLimits& limits = {});

void write_png(const std::filesystem::path& path, const Image& image);  // whole or not at all

}  // namespace tessera::formats
