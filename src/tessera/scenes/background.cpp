#include "tessera/scenes/background.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tessera::scenes {
namespace {

constexpr std::int64_t clear_distance = 170;  // between what is shown and what is behind it
constexpr int tries = 24;

std::uint8_t level(std::int64_t value) { return static_cast<std::uint8_t>(std::clamp<std::int64_t>(value, 0, 255)); }

// Light, dark, or anything between.
Colour draw_colour(data::RandomSequence& draws) {
    const std::int64_t kind = draws.below(4);
    const std::int64_t least = kind < 2 ? 190 : 0, range = kind < 2 ? 66 : kind == 2 ? 70 : 256;
    Colour colour{};
    for (std::uint8_t& channel : colour) channel = level(least + draws.below(range));
    return colour;
}

Colour near(Colour colour, std::int64_t most, data::RandomSequence& draws) {
    for (std::uint8_t& channel : colour) channel = level(channel + draws.below(2 * most + 1) - most);
    return colour;
}

SceneBackground draw_one(data::RandomSequence& draws, std::int64_t size, RandomKey key) {
    SceneBackground background;
    background.kind = static_cast<SceneBackground::Kind>(draws.below(5));
    background.first = draw_colour(draws);
    background.second = near(background.first, background.kind == SceneBackground::Kind::Gradient ? 80 : 28, draws);
    constexpr std::array<std::array<std::int64_t, 2>, 4> directions = {{{1, 0}, {0, 1}, {1, 1}, {1, -1}}};
    const auto& direction = directions[static_cast<std::size_t>(draws.below(4))];
    background.across = direction[0], background.down = direction[1];
    background.period =
        background.kind == SceneBackground::Kind::Noise ? 1 + draws.below(4) : size / 24 + 1 + draws.below(size / 8);
    background.noise = key;
    return background;
}

// The colour at each pixel as a share of the second one, in 256ths.
template <class Share>
void mix(formats::Image& image, const SceneBackground& background, Share share) {
    std::array<Colour, 257> mixed;
    for (std::size_t part = 0; part < mixed.size(); ++part)
        for (std::size_t c = 0; c < 3; ++c)
            mixed[part][c] = static_cast<std::uint8_t>(
                (background.first[c] * (256 - part) + background.second[c] * part + 128) / 256);
    for (std::int64_t y = 0; y < image.height; ++y) {
        std::uint8_t* to = image.row(y);
        for (std::int64_t x = 0; x < image.width; ++x, to += 3)
            std::memcpy(to, mixed[static_cast<std::size_t>(share(x, y))].data(), 3);
    }
}

// A grey value a grain, 16 of which come from one block of random bits.
void paint_noise(formats::Image& image, const SceneBackground& background) {
    const std::int64_t grains = (image.width + background.period - 1) / background.period;
    std::vector<std::uint8_t> row(static_cast<std::size_t>(grains + 15));
    std::uint64_t counter = 0;
    std::int64_t line = -1;
    mix(image, background, [&](std::int64_t x, std::int64_t y) {
        if (y / background.period != line) {
            line = y / background.period;
            for (std::int64_t i = 0; i < grains; i += 16) {
                const RandomBlock block = philox(background.noise, counter++);
                for (std::size_t b = 0; b < 16; ++b)
                    row[static_cast<std::size_t>(i) + b] = static_cast<std::uint8_t>(block.word[b / 4] >> (b % 4 * 8));
            }
        }
        return std::int64_t{row[static_cast<std::size_t>(x / background.period)]};
    });
}

}  // namespace

std::int64_t distance(Colour a, Colour b) {
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < 3; ++c) sum += std::abs(std::int64_t{a[c]} - b[c]);
    return sum;
}

SceneBackground draw_background(std::span<const Colour> shown, std::int64_t size, RandomKey key) {
    data::RandomSequence draws(key.child(1));
    SceneBackground best;
    std::int64_t farthest = -1;
    for (int i = 0; i < tries && farthest < clear_distance; ++i) {
        const SceneBackground one = draw_one(draws, size, key.child(2));
        std::int64_t nearest = 3 * 255;
        for (const Colour colour : shown)
            nearest = std::min({nearest, distance(colour, one.first), distance(colour, one.second)});
        if (nearest <= farthest) continue;
        farthest = nearest;
        best = one;
    }
    return best;
}

void paint(formats::Image& image, const SceneBackground& background) {
    const std::int64_t period = background.period, across = background.across, down = background.down;
    switch (background.kind) {
        case SceneBackground::Kind::Plain:
            return mix(image, background, [](std::int64_t, std::int64_t) { return std::int64_t{0}; });
        case SceneBackground::Kind::Gradient: {
            const std::int64_t lowest = std::min<std::int64_t>(0, down * (image.height - 1));
            const std::int64_t range = across * (image.width - 1) + std::abs(down) * (image.height - 1);
            return mix(image, background, [=](std::int64_t x, std::int64_t y) {
                return (x * across + y * down - lowest) * 256 / std::max<std::int64_t>(range, 1);
            });
        }
        case SceneBackground::Kind::Noise: return paint_noise(image, background);
        case SceneBackground::Kind::Stripes: {
            const std::int64_t shift = 2 * period * image.height;  // keeps places positive, and the stripes in place
            return mix(image, background, [=](std::int64_t x, std::int64_t y) {
                return (x * across + y * down + shift) / period % 2 * 256;
            });
        }
        case SceneBackground::Kind::Checks:
            return mix(image, background,
                       [=](std::int64_t x, std::int64_t y) { return (x / period + y / period) % 2 * 256; });
    }
}

}  // namespace tessera::scenes
