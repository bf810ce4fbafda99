#include "formats/image.h"

#include <cstring>
#include <string_view>

#include "core/error.h"
#include "core/mapped_file.h"
#include "formats/image_decoders.h"

namespace tessera::formats {
namespace {

using namespace std::string_view_literals;

struct Mark {
    std::size_t offset;
    std::string_view bytes;
    const char* kind;
    Image (*decode)(const ImageFile& file);  // none: known, but not read
};

constexpr Mark marks[] = {
    {0, "\x89PNG\r\n\x1a\n"sv, "PNG", decode_png},
    {0, "\xff\xd8\xff"sv, "JPEG", decode_jpeg},
    {8, "WEBP"sv, "WebP", decode_webp},
    {0, "GIF8"sv, "GIF", decode_gif},
    {0, "BM"sv, "BMP", nullptr},
    {0, "II*\0"sv, "TIFF", nullptr},
    {0, "MM\0*"sv, "TIFF", nullptr},
    {4, "ftypavif"sv, "AVIF", nullptr},
    {4, "ftypheic"sv, "HEIC", nullptr},
    {4, "ftypmif1"sv, "HEIF", nullptr},
    {0, "\0\0\1\0"sv, "ICO", nullptr},
    {0, "\0\0\0\x0cjP  "sv, "JPEG 2000", nullptr},
    {0, "\xff\x0a"sv, "JPEG XL", nullptr},
    {0, "<svg"sv, "SVG", nullptr},
    {0, "%PDF"sv, "PDF", nullptr},
};

constexpr const char* readable = "PNG, JPEG, WebP and GIF can be read";

bool has(std::span<const std::byte> bytes, const Mark& mark) {
    return bytes.size() >= mark.offset + mark.bytes.size() &&
           std::memcmp(bytes.data() + mark.offset, mark.bytes.data(), mark.bytes.size()) == 0;
}

}  // namespace

Image::Image(std::int64_t w, std::int64_t h) : width(w), height(h), pixels(static_cast<std::size_t>(w * h * 3)) {}

void ImageFile::reject(const char* kind, std::string_view reason) const { fail(source, ": ", kind, ": ", reason); }

void ImageFile::check_size(const char* kind, std::int64_t width, std::int64_t height) const {
    if (width <= 0 || height <= 0) reject(kind, text_of("a picture of ", width, " × ", height, " pixels is empty"));
    if (width > limits.pixels / height)
        reject(kind, text_of(width, " × ", height, " pixels are more than the limit of ", limits.pixels));
}

Image over_white(std::int64_t width, std::int64_t height, const std::vector<std::uint8_t>& rgba) {
    Image image(width, height);
    const std::uint8_t* from = rgba.data();
    for (auto to = image.pixels.begin(); to != image.pixels.end(); to += 3, from += 4) {
        const unsigned alpha = from[3], white = 255u * (255u - alpha);
        for (int c = 0; c < 3; ++c) to[c] = static_cast<std::uint8_t>((from[c] * alpha + white + 127) / 255);
    }
    return image;
}

Image decode_image(std::span<const std::byte> bytes, const std::string& source, const ImageLimits& limits) {
    check(!bytes.empty(), source, ": the file is empty");
    check(bytes.size() <= limits.bytes, source, ": a picture file of ", bytes.size(), " bytes is past the limit of ",
          limits.bytes);
    for (const Mark& mark : marks) {
        if (!has(bytes, mark)) continue;
        check(mark.decode != nullptr, source, ": a ", mark.kind, " file; ", readable);
        return mark.decode({bytes, source, limits});
    }
    fail(source, ": not a picture of a known kind; ", readable);
}

Image read_image(const std::filesystem::path& path, const ImageLimits& limits) {
    const MappedFile file(path);
    return decode_image({file.data(), file.bytes()}, path.string(), limits);
}

}  // namespace tessera::formats
