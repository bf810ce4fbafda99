// One decoder per kind of image file, and what they share.
#pragma once

#include <optional>

#include "tessera/formats/image/transparent_image.h"

namespace tessera::formats {

// Bytes of a file, and what a decoder needs to complain about them.
struct ImageFile {
    std::span<const std::byte> bytes;
    const std::string& source;
    const ImageLimits& limits;

    const std::uint8_t* data() const { return reinterpret_cast<const std::uint8_t*>(bytes.data()); }
    [[noreturn]] void reject(const char* kind, std::string_view reason) const;         // "x.png: PNG: reason"
    void check_size(const char* kind, std::int64_t width, std::int64_t height) const;  // before anything is allocated
};

// Each has been checked to begin as such a file does. JPEG alone knows no transparency.
TransparentImage decode_png(const ImageFile& file);
TransparentImage decode_webp(const ImageFile& file);
TransparentImage decode_gif(const ImageFile& file);
Image decode_jpeg(const ImageFile& file);

// a · b / 255, rounded to nearest.
constexpr std::uint8_t multiply_255(unsigned a, unsigned b) { return static_cast<std::uint8_t>((a * b + 127) / 255); }

// How the camera was held (1 to 8; 1 is upright), as a tag of EXIF, which is a TIFF, or as a word in XMP, which is XML;
// 0 where it does not say. EXIF comes first where there are both.
int exif_orientation(std::span<const std::uint8_t> tiff);
int xmp_orientation(std::span<const std::uint8_t> xml);
Image upright(Image image, int orientation);
TransparentImage upright(TransparentImage image, int orientation);

}  // namespace tessera::formats
