// Any bytes are an image within its limits or one Error, and one that was read can be made smaller and larger. A first
// byte below 4, which begins no image, asks for a file made of the others.
#include <cstdint>
#include <cstdlib>

#include "made_image.h"
#include "tessera/core/error.h"
#include "tessera/formats/image/resize.h"
#include "tessera/formats/image/transparent_image.h"

namespace {

std::string input_of(const std::uint8_t* data, std::size_t size) {
    constexpr std::string (*makers[])(TakenBytes&) = {made::png, made::jpeg, made::gif, made::webp};
    if (size == 0 || data[0] >= std::size(makers)) return {reinterpret_cast<const char*>(data), size};
    TakenBytes in(data + 1, size - 1);
    return makers[data[0]](in);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    constexpr std::int64_t most_pixels = 1 << 16;
    const std::string input = input_of(data, size);
    const auto bytes = std::as_bytes(std::span(input));
    try {
        const formats::Image image = formats::decode_image(bytes, "input", {.pixels = most_pixels});
        if (image.width < 1 || image.height < 1 || image.width * image.height > most_pixels) std::abort();
        const auto transparent = formats::decode_transparent_image(bytes, "input", {.pixels = most_pixels});
        if (transparent.width != image.width || transparent.height != image.height) std::abort();
        const auto filter = static_cast<formats::Resampling>(size % 6);
        if (formats::resize(image, 9, 5, filter).pixels.size() != 9 * 5 * 3) std::abort();
        formats::resize(image, 1 + size % 512, 1, filter);
        formats::resize(image, 1, 1 + size % 512, filter);
    } catch (const Error&) {
    }
    return 0;
}
