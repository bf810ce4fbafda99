// An image in memory, and the files it comes from: PNG, JPEG, WebP and GIF (its first frame), told apart by their
// first bytes. All become 8-bit RGB as Pillow makes it, turned as their EXIF orientation says, with whatever is
// transparent laid over white. Images come from strangers: size and pixels are checked against limits before anything
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

// What reading or making one image may ask for: the largest cameras pass, and a file of few bytes cannot take the
// machine's memory. A side is limited of itself because filters keep weights for each of its pixels.
struct ImageLimits {
    std::size_t bytes = std::size_t{128} << 20;
    std::int64_t pixels = std::int64_t{1} << 26;  // 64 megapixels: 8192 × 8192
    std::int64_t side = std::int64_t{1} << 20;
};

Image read_image(const std::filesystem::path& path, const ImageLimits& limits = {});
// `source` is what errors name: the path of the file, say.
Image decode_image(std::span<const std::byte> bytes, const std::string& source, const ImageLimits& limits = {});

// Whole or not at all. write_image takes the kind from the ending, .png, .jpg or .jpeg; any other is an error, which
// image_signature tells before there is an image, and what the file will begin with.
void write_png(const std::filesystem::path& path, const Image& image);
void write_jpeg(const std::filesystem::path& path, const Image& image);
void write_image(const std::filesystem::path& path, const Image& image);
const char* image_signature(const std::filesystem::path& path);

}  // namespace tessera::formats
