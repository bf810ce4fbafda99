// The printable characters of ASCII, 5 × 7 pixels each: enough to write a label onto a picture.
#pragma once

#include <array>
#include <cstdint>

namespace tessera::data {

constexpr int glyph_width = 5, glyph_height = 7;
using Glyph = std::array<std::uint8_t, glyph_height>;  // rows from above; the lowest 5 bits, the left one highest

const Glyph& glyph_of(unsigned char character);  // a frame for what is not printable ASCII

}  // namespace tessera::data
