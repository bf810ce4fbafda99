// Places for things in a square image: none overlaps another.
#pragma once

#include <optional>
#include <span>

#include "tessera/data/detections.h"
#include "tessera/data/random_sequence.h"

namespace tessera::scenes {

// Nothing where some tries found no room.
std::optional<data::Detection::Box> draw_place(std::int64_t width, std::int64_t height,
                                               std::span<const data::Detection::Box> taken, std::int64_t size,
                                               data::RandomSequence& draws);

}  // namespace tessera::scenes
