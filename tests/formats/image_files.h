// Image files for tests: those under tests/goldens/images, which another program wrote, and small encoders for the
// kinds that are missing there.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "support/goldens.h"
#include "tessera/formats/image/image.h"

namespace tessera::testing {

// What the files under tests/goldens/images show.
inline formats::Image drawn_image() {
    formats::Image image(13, 9);
    for (int y = 0; y < 9; ++y)
        for (int x = 0; x < 13; ++x) {
            std::uint8_t* pixel = image.row(y) + x * 3;
            pixel[0] = static_cast<std::uint8_t>(x * 19);
            pixel[1] = static_cast<std::uint8_t>(y * 28);
            pixel[2] = static_cast<std::uint8_t>(x * y * 7 % 256);
        }
    return image;
}

// The same with alpha, over white.
inline formats::Image drawn_over_white() {
    formats::Image image = drawn_image();
    for (std::size_t i = 0; i < image.pixels.size(); ++i) {
        const double alpha = static_cast<double>(i / 3 * 37 % 256) / 255;
        image.pixels[i] = static_cast<std::uint8_t>(image.pixels[i] * alpha + 255 * (1 - alpha) + 0.5);
    }
    return image;
}

inline std::string file_bytes(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string image_bytes(const std::string& name) { return file_bytes(golden_path("pictures/" + name)); }

inline formats::Image decode(const std::string& bytes, const formats::ImageLimits& limits = {}) {
    return formats::decode_image(std::as_bytes(std::span(bytes)), "test image", limits);
}

inline int largest_difference(const formats::Image& a, const formats::Image& b) {
    if (a.width != b.width || a.height != b.height) return 1000;
    int largest = 0;
    for (std::size_t i = 0; i < a.pixels.size(); ++i) largest = std::max(largest, std::abs(a.pixels[i] - b.pixels[i]));
    return largest;
}

// Rows of samples as PNG stores them: `samples` a pixel of `depth` bits, packed.
struct PngSource {
    int width = 0, height = 0, depth = 8, colour_type = 0;
    std::string rows;
    int transparent_grey = -1;
};
std::string png_of(const PngSource& source);

// A chunk of text as it stands in a PNG.
enum class PngText { Packed, Utf8, PackedUtf8 };
std::string text_chunk(const std::string& key, const std::string& text, PngText kind);

// All pixels of one value; `components` 1, 3 or 4. Inks are given as they are to be stored.
struct JpegSource {
    int width = 16, height = 16, components = 4;
    std::uint8_t values[4] = {};
    bool separate_black = false;  // inks as YCCK instead of CMYK
    bool adobe_marker = true;
    int scans = 0;  // progressive, in so many; 0: not
};
std::string jpeg_of(const JpegSource& source);

// With this EXIF orientation right after the start-of-image marker.
std::string with_orientation(const std::string& jpeg, int orientation, bool big_endian);

}  // namespace tessera::testing
