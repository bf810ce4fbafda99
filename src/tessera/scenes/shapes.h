// Circles, squares, triangles and stars, and the colours they come in.
#pragma once

#include <array>

#include "tessera/data/random_sequence.h"
#include "tessera/scenes/sprites.h"

namespace tessera::scenes {

enum class SceneShape : std::uint8_t { Circle, Square, Triangle, Star };
constexpr std::array<const char*, 4> shape_names = {"circle", "square", "triangle", "star"};

struct NamedColour {
    const char* name;
    Colour colour;
};
constexpr NamedColour shape_colours[] = {
    {"red", {220, 30, 30}},     {"green", {30, 150, 50}},   {"blue", {35, 70, 210}},   {"yellow", {245, 215, 30}},
    {"orange", {245, 130, 20}}, {"purple", {130, 40, 170}}, {"pink", {250, 130, 190}}, {"brown", {125, 75, 35}},
    {"black", {20, 20, 20}},    {"white", {245, 245, 245}},
};

Mask shape_mask(SceneShape shape, std::int64_t side);
Colour varied(Colour colour,
              data::RandomSequence& draws);  // a little lighter, darker or otherwise off; the name stays right

}  // namespace tessera::scenes
