#include "tessera/scenes/shapes.h"

#include <algorithm>
#include <span>

namespace tessera::scenes {
namespace {

constexpr std::int64_t fine = 256;  // pixels a side of the drawing that all sizes are scaled from

struct Point {
    std::int64_t x, y;
};

// In 1024ths of a side. The star's points lie on a circle around (512, 567), the inner ones at 0.42 of its radius.
constexpr Point triangle_points[] = {{512, 0}, {1024, 887}, {0, 887}};
constexpr Point star_points[] = {{512, 29},  {645, 385},  {1024, 401}, {727, 637}, {828, 1002},
                                 {512, 793}, {196, 1002}, {297, 637},  {0, 401},   {379, 385}};

// Counts the edges to the left of a point (even: outside), all in whole numbers.
bool is_inside(std::span<const Point> corners, Point at) {
    bool inside = false;
    for (std::size_t i = 0, j = corners.size() - 1; i < corners.size(); j = i++) {
        const Point a = corners[i], b = corners[j];
        if ((a.y > at.y) == (b.y > at.y)) continue;
        const std::int64_t side = (b.x - a.x) * (at.y - a.y) - (at.x - a.x) * (b.y - a.y);
        if ((b.y > a.y) == (side > 0)) inside = !inside;
    }
    return inside;
}

bool is_covered(SceneShape shape, Point at) {
    switch (shape) {
        case SceneShape::Circle: return (at.x - 512) * (at.x - 512) + (at.y - 512) * (at.y - 512) <= 512 * 512;
        case SceneShape::Square: return true;
        case SceneShape::Triangle: return is_inside(triangle_points, at);
        case SceneShape::Star: return is_inside(star_points, at);
    }
    return false;
}

Mask drawn(SceneShape shape) {
    Mask mask{fine, fine, std::vector<std::uint8_t>(fine * fine)};
    for (std::int64_t y = 0; y < fine; ++y)
        for (std::int64_t x = 0; x < fine; ++x)
            if (is_covered(shape, {x * 1024 / fine + 2, y * 1024 / fine + 2}))
                mask.cover[static_cast<std::size_t>(y * fine + x)] = 255;
    return mask;
}

}  // namespace

Mask shape_mask(SceneShape shape, std::int64_t side) {
    static const std::array<Mask, shape_names.size()> drawings = {drawn(SceneShape::Circle), drawn(SceneShape::Square),
                                                                  drawn(SceneShape::Triangle), drawn(SceneShape::Star)};
    return scaled(drawings[static_cast<std::size_t>(shape)], side, side);
}

Colour varied(Colour colour, data::RandomSequence& draws) {
    constexpr std::int64_t most = 14;
    for (std::uint8_t& channel : colour)
        channel =
            static_cast<std::uint8_t>(std::clamp<std::int64_t>(channel + draws.below(2 * most + 1) - most, 0, 255));
    return colour;
}

}  // namespace tessera::scenes
