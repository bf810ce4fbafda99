#include "tessera/scenes/layout.h"

#include <algorithm>

namespace tessera::scenes {
namespace {

constexpr int tries = 20;

bool is_near(const data::Detection::Box& a, const data::Detection::Box& b, std::int64_t gap) {
    return a.left < b.right + gap && b.left < a.right + gap && a.top < b.bottom + gap && b.top < a.bottom + gap;
}

}  // namespace

std::optional<data::Detection::Box> draw_place(std::int64_t width, std::int64_t height,
                                               std::span<const data::Detection::Box> taken, std::int64_t size,
                                               data::RandomSequence& draws) {
    constexpr std::int64_t margin = 1;
    const std::int64_t gap = 1 + size / 64, free_x = size - 2 * margin - width, free_y = size - 2 * margin - height;
    if (free_x < 0 || free_y < 0) return std::nullopt;
    for (int i = 0; i < tries; ++i) {
        const std::int64_t left = margin + draws.below(free_x + 1), top = margin + draws.below(free_y + 1);
        const data::Detection::Box box{left, top, left + width, top + height};
        if (std::none_of(taken.begin(), taken.end(), [&](const auto& other) { return is_near(box, other, gap); }))
            return box;
    }
    return std::nullopt;
}

}  // namespace tessera::scenes
