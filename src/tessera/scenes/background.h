// The background of a scene: plain, a gradient, noise, stripes or checks, light or dark, of colours that what is shown
// stands out from.
#pragma once

#include <span>

#include "tessera/data/random_sequence.h"
#include "tessera/scenes/sprites.h"

namespace tessera::scenes {

struct SceneBackground {
    enum class Kind : std::uint8_t { Plain, Gradient, Noise, Stripes, Checks };
    Kind kind = Kind::Plain;
    Colour first = {}, second = {};
    std::int64_t across = 1, down = 0;  // the direction in which a gradient or stripes go on
    std::int64_t period = 8;            // of stripes and checks, in pixels; of noise: the grain
    RandomKey noise = {};
};

std::int64_t distance(Colour a, Colour b);  // the sum over channels

SceneBackground draw_background(std::span<const Colour> shown, std::int64_t size, RandomKey key);
void paint(formats::Image& image, const SceneBackground& background);

}  // namespace tessera::scenes
