// Any bytes are a picture within its limits or one Error, and one that was read can be made smaller and larger.
#include <cstdint>
#include <cstdlib>

#include "core/error.h"
#include "formats/resize.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tessera;
    constexpr std::int64_t most_pixels = 1 << 16;
    try {
        const formats::Image image =
            formats::decode_image({reinterpret_cast<const std::byte*>(data), size}, "input", {.pixels = most_pixels});
        if (image.width < 1 || image.height < 1 || image.width * image.height > most_pixels) std::abort();
        const auto filter = static_cast<formats::Resampling>(size % 6);
        if (formats::resize(image, 9, 5, filter).pixels.size() != 9 * 5 * 3) std::abort();
    } catch (const Error&) {
    }
    return 0;
}
