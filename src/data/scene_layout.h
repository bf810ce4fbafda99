// Places for things in a square picture: none overlaps another.
#pragma once

#include <optional>
#include <span>

#include "data/detections.h"
#include "data/draws.h"

namespace tessera::data {

// Nothing where some tries found no room.
std::optional<Detection::Box> draw_place(std::int64_t width, std::int64_t height, std::span<const Detection::Box> taken,
                                         std::int64_t size, Draws& draws);

}  // namespace tessera::data
