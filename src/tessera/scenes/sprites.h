// Small images with transparency: cut out, scaled and laid onto others, all in whole numbers, so that every machine
// makes the same bits.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tessera/formats/image/transparent_image.h"

namespace tessera::scenes {

using Colour = std::array<std::uint8_t, 3>;

// (height, width, 4): red, green and blue already multiplied by alpha, and alpha. Its edges are not empty: each holds a
// pixel that is seen.
struct Sprite {
    std::int64_t width = 0, height = 0;
    std::vector<std::uint8_t> pixels = {};

    Colour mean() const;  // of what is seen
};

// How much of each pixel is covered.
struct Mask {
    std::int64_t width = 0, height = 0;
    std::vector<std::uint8_t> cover = {};
};

// Cut to what is seen; nothing where nothing is.
Sprite sprite_of(const formats::TransparentImage& image);
Sprite coloured(const Mask& mask, Colour colour);

// The longer side becomes `side`. What is hardly seen is left out.
Sprite scaled(const Sprite& sprite, std::int64_t side);
Mask scaled(const Mask& mask, std::int64_t width, std::int64_t height);

// With its upper left corner there; all of it must lie within the image.
void lay(formats::Image& onto, const Sprite& sprite, std::int64_t left, std::int64_t top, bool mirrored);

}  // namespace tessera::scenes
