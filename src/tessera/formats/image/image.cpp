#include "tessera/formats/image/image.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "tessera/core/error.h"
#include "tessera/core/mapped_file.h"
#include "tessera/formats/image/decoders.h"

namespace tessera::formats {
namespace {

using namespace std::string_view_literals;

struct Mark {
    std::size_t offset;
    std::string_view bytes;
    const char* kind;
    TransparentImage (*decode)(const ImageFile& file) = nullptr;
    Image (*decode_opaque)(const ImageFile& file) = nullptr;  // neither: known, but not read
};

constexpr Mark marks[] = {
    {0, "\x89PNG\r\n\x1a\n"sv, "PNG", decode_png},
    {0, "\xff\xd8\xff"sv, "JPEG", nullptr, decode_jpeg},
    {8, "WEBP"sv, "WebP", decode_webp},
    {0, "GIF8"sv, "GIF", decode_gif},
    {0, "BM"sv, "BMP"},
    {0, "II*\0"sv, "TIFF"},
    {0, "MM\0*"sv, "TIFF"},
    {4, "ftypavif"sv, "AVIF"},
    {4, "ftypheic"sv, "HEIC"},
    {4, "ftypmif1"sv, "HEIF"},
    {0, "\0\0\1\0"sv, "ICO"},
    {0, "\0\0\0\x0cjP  "sv, "JPEG 2000"},
    {0, "\xff\x0a"sv, "JPEG XL"},
    {0, "<svg"sv, "SVG"},
    {0, "%PDF"sv, "PDF"},
};

constexpr const char* readable = "PNG, JPEG, WebP and GIF can be read";

bool has(std::span<const std::byte> bytes, const Mark& mark) {
    return bytes.size() >= mark.offset + mark.bytes.size() &&
           std::memcmp(bytes.data() + mark.offset, mark.bytes.data(), mark.bytes.size()) == 0;
}

const Mark& mark_of(std::span<const std::byte> bytes, const std::string& source, const ImageLimits& limits) {
    check(!bytes.empty(), source, ": the file is empty");
    check(bytes.size() <= limits.bytes, source, ": an image file of ", bytes.size(), " bytes is past the limit of ",
          limits.bytes);
    for (const Mark& mark : marks) {
        if (!has(bytes, mark)) continue;
        check(mark.decode || mark.decode_opaque, source, ": a ", mark.kind, " file; ", readable);
        return mark;
    }
    fail(source, ": not an image of a known kind; ", readable);
}

Image over_white(const TransparentImage& transparent) {
    Image image(transparent.width, transparent.height);
    const std::uint8_t* from = transparent.pixels.data();
    for (auto to = image.pixels.begin(); to != image.pixels.end(); to += 3, from += 4) {
        const unsigned alpha = from[3], white = 255u * (255u - alpha);
        for (int c = 0; c < 3; ++c) to[c] = static_cast<std::uint8_t>((from[c] * alpha + white + 127) / 255);
    }
    return image;
}

TransparentImage opaque(const Image& image) {
    TransparentImage result(image.width, image.height);
    const std::uint8_t* from = image.pixels.data();
    for (auto to = result.pixels.begin(); to != result.pixels.end(); to += 4, from += 3) {
        std::memcpy(&*to, from, 3);
        to[3] = 255;
    }
    return result;
}

}  // namespace

Image::Image(std::int64_t w, std::int64_t h) : width(w), height(h), pixels(static_cast<std::size_t>(w * h * 3)) {}

TransparentImage::TransparentImage(std::int64_t w, std::int64_t h)
    : width(w), height(h), pixels(static_cast<std::size_t>(w * h * 4)) {}

void ImageFile::reject(const char* kind, std::string_view reason) const { fail(source, ": ", kind, ": ", reason); }

void ImageFile::check_size(const char* kind, std::int64_t width, std::int64_t height) const {
    if (width <= 0 || height <= 0) reject(kind, text_of("an image of ", width, " × ", height, " pixels is empty"));
    if (width > limits.pixels / height)
        reject(kind, text_of(width, " × ", height, " pixels are more than the limit of ", limits.pixels));
    if (std::max(width, height) > limits.side)
        reject(kind, text_of(width, " × ", height, " pixels: a side is longer than the limit of ", limits.side));
}

Image decode_image(std::span<const std::byte> bytes, const std::string& source, const ImageLimits& limits) {
    const Mark& mark = mark_of(bytes, source, limits);
    const ImageFile file{bytes, source, limits};
    return mark.decode_opaque ? mark.decode_opaque(file) : over_white(mark.decode(file));
}

TransparentImage decode_transparent_image(std::span<const std::byte> bytes, const std::string& source,
                                          const ImageLimits& limits) {
    const Mark& mark = mark_of(bytes, source, limits);
    const ImageFile file{bytes, source, limits};
    return mark.decode ? mark.decode(file) : opaque(mark.decode_opaque(file));
}

Image read_image(const std::filesystem::path& path, const ImageLimits& limits) {
    const MappedFile file(path);
    return decode_image({file.data(), file.bytes()}, path.string(), limits);
}

TransparentImage read_transparent_image(const std::filesystem::path& path, const ImageLimits& limits) {
    const MappedFile file(path);
    return decode_transparent_image({file.data(), file.bytes()}, path.string(), limits);
}

namespace {

struct Writer {
    const char *ending, *signature;
    void (*write)(const std::filesystem::path& path, const Image& image);
};

constexpr Writer writers[] = {
    {".png", "\x89PNG", write_png}, {".jpg", "\xff\xd8", write_jpeg}, {".jpeg", "\xff\xd8", write_jpeg}};

const Writer& writer_of(const std::filesystem::path& path) {
    std::string ending = path.extension().string();
    for (char& c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const Writer& writer : writers)
        if (ending == writer.ending) return writer;
    fail(path.string(), ": an image is written as PNG or JPEG: expected a name that ends in .png, .jpg or .jpeg");
}

}  // namespace

const char* image_signature(const std::filesystem::path& path) { return writer_of(path).signature; }

void write_image(const std::filesystem::path& path, const Image& image) { writer_of(path).write(path, image); }

}  // namespace tessera::formats
