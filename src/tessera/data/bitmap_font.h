// The printable characters of ASCII, 5 × 7 pixels each, and labels written in them onto an image.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tessera/formats/image/image.h"

namespace tessera::data {

constexpr int glyph_width = 5, glyph_height = 7;
using Glyph = std::array<std::uint8_t, glyph_height>;  // rows from above; the lowest 5 bits, the left one highest

const Glyph& glyph_of(unsigned char character);  // a frame for what is not printable ASCII

// One line, each pixel of a letter a square of `scale`; a character of several bytes is one frame. What lies outside of
// the image is left out.
struct Label {
    std::int64_t left = 0, top = 0, scale = 1;
    std::array<std::uint8_t, 3> colour = {255, 255, 255};
};
void write_label(formats::Image& image, const std::string& text, const Label& label);
std::int64_t label_width(const std::string& text, std::int64_t scale);  // with a space after each letter

}  // namespace tessera::data
