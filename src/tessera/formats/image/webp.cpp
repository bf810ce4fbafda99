// WebP (developers.google.com/speed/webp/docs/riff_container), by libwebp: lossy, lossless, with alpha, and the first
// frame of an animation on its canvas.
#include <webp/decode.h>

#include <algorithm>
#include <cstring>

#include "tessera/core/error.h"
#include "tessera/formats/image/decoders.h"

namespace tessera::formats {
namespace {

constexpr const char* kind = "WebP";
using Bytes = std::span<const std::uint8_t>;

std::uint32_t little_endian(Bytes bytes, std::size_t at, int count) {
    std::uint32_t value = 0;
    for (int i = 0; i < count; ++i) value |= std::uint32_t{bytes[at + static_cast<std::size_t>(i)]} << (8 * i);
    return value;
}

// The payload of the first chunk of this name, as much of it as there is; empty where there is none.
Bytes chunk_named(Bytes file, const char* name) {
    constexpr std::size_t riff_head = 12, chunk_head = 8;
    Bytes left = file.subspan(std::min(file.size(), riff_head));
    while (left.size() >= chunk_head) {
        const std::size_t bytes = little_endian(left, 4, 4);
        const bool found = std::memcmp(left.data(), name, 4) == 0;
        left = left.subspan(chunk_head);
        if (found) return left.first(std::min(bytes, left.size()));
        left = left.subspan(std::min(bytes + bytes % 2, left.size()));
    }
    return {};
}

const char* reason_of(VP8StatusCode status) {
    switch (status) {
        case VP8_STATUS_NOT_ENOUGH_DATA: return "the file ends before the image does";
        case VP8_STATUS_OUT_OF_MEMORY: return "no memory for the decoder";
        case VP8_STATUS_UNSUPPORTED_FEATURE: return "no decoder for this kind of WebP";
        default: return "the data are damaged";
    }
}

struct Frame {
    Bytes bytes;  // what libwebp decodes
    std::int64_t x = 0, y = 0, width = 0, height = 0;
};

Frame first_frame(const ImageFile& file, Bytes whole) {
    constexpr std::size_t head = 16;  // place, size, duration, flags
    const Bytes chunk = chunk_named(whole, "ANMF");
    if (chunk.size() <= head) file.reject(kind, "the animation has no frame");
    return {chunk.subspan(head), std::int64_t{2} * little_endian(chunk, 0, 3),
            std::int64_t{2} * little_endian(chunk, 3, 3), std::int64_t{1} + little_endian(chunk, 6, 3),
            std::int64_t{1} + little_endian(chunk, 9, 3)};
}

}  // namespace

TransparentImage decode_webp(const ImageFile& file) {
    const Bytes whole(file.data(), file.bytes.size());
    WebPBitstreamFeatures features{};
    const VP8StatusCode status = WebPGetFeatures(whole.data(), whole.size(), &features);
    if (status != VP8_STATUS_OK) file.reject(kind, reason_of(status));
    const std::int64_t width = features.width, height = features.height;
    file.check_size(kind, width, height);
    Frame frame{.bytes = whole, .width = width, .height = height};
    if (features.has_animation != 0) frame = first_frame(file, whole);
    if (frame.x + frame.width > width || frame.y + frame.height > height)
        file.reject(kind, "the first frame lies outside of the image");

    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0) file.reject(kind, "the installed libwebp is another version");
    const VP8StatusCode frame_status = WebPGetFeatures(frame.bytes.data(), frame.bytes.size(), &config.input);
    if (frame_status != VP8_STATUS_OK) file.reject(kind, reason_of(frame_status));
    if (config.input.width != frame.width || config.input.height != frame.height)
        file.reject(kind, "the first frame is of another size than it says");
    TransparentImage image(width, height);
    const std::size_t offset = static_cast<std::size_t>((frame.y * width + frame.x) * 4);
    config.output.colorspace = MODE_RGBA;
    config.output.is_external_memory = 1;
    config.output.u.RGBA = {image.pixels.data() + offset, static_cast<int>(width * 4), image.pixels.size() - offset};
    const VP8StatusCode decoded = WebPDecode(frame.bytes.data(), frame.bytes.size(), &config);
    WebPFreeDecBuffer(&config.output);
    if (decoded != VP8_STATUS_OK) file.reject(kind, reason_of(decoded));
    const int of_exif = exif_orientation(chunk_named(whole, "EXIF"));
    return upright(std::move(image), of_exif != 0 ? of_exif : xmp_orientation(chunk_named(whole, "XMP ")));
}

}  // namespace tessera::formats
