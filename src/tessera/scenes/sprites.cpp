#include "tessera/scenes/sprites.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tessera/core/error.h"

namespace tessera::scenes {
namespace {

constexpr std::uint8_t hardly_seen = 32;

std::uint8_t divided_by_255(unsigned value) { return static_cast<std::uint8_t>((value + 127) / 255); }

// A triangle filter over one axis, as wide as the reduction asks for; positions and weights in units of half an output
// pixel's share of an input pixel, which are whole numbers.
struct Window {
    std::int64_t first = 0;
    std::vector<std::int64_t> weights = {};
    std::int64_t sum = 0;
};

std::vector<Window> windows_of(std::int64_t from, std::int64_t to) {
    std::vector<Window> windows(static_cast<std::size_t>(to));
    const std::int64_t reach = 2 * std::max(from, to);
    for (std::int64_t i = 0; i < to; ++i) {
        Window& window = windows[static_cast<std::size_t>(i)];
        const std::int64_t centre = (2 * i + 1) * from;
        window.first = std::max<std::int64_t>(0, (centre - reach) / (2 * to));
        for (std::int64_t x = window.first; x < from; ++x) {
            const std::int64_t weight = reach - std::abs((2 * x + 1) * to - centre);
            if (weight <= 0 && (2 * x + 1) * to > centre) break;
            window.weights.push_back(std::max<std::int64_t>(weight, 0));
            window.sum += window.weights.back();
        }
    }
    return windows;
}

struct Size {
    std::int64_t width, height;
};

// Rows first, their sums kept whole; then columns, rounded once.
template <std::int64_t channels>
std::vector<std::uint8_t> resampled(const std::vector<std::uint8_t>& pixels, Size from, Size to) {
    const std::vector<Window> columns = windows_of(from.width, to.width), lines = windows_of(from.height, to.height);
    std::vector<std::int64_t> rows(static_cast<std::size_t>(from.height * to.width * channels));
    auto sums = rows.begin();
    for (std::int64_t y = 0; y < from.height; ++y)
        for (const Window& window : columns) {
            const std::uint8_t* at = pixels.data() + (y * from.width + window.first) * channels;
            for (const std::int64_t weight : window.weights)
                for (std::int64_t c = 0; c < channels; ++c) sums[c] += weight * *at++;
            sums += channels;
        }
    const std::int64_t stride = to.width * channels;
    std::vector<std::uint8_t> out(static_cast<std::size_t>(stride * to.height));
    std::vector<std::int64_t> line(static_cast<std::size_t>(stride));
    for (std::int64_t y = 0; y < to.height; ++y) {
        const Window& window = lines[static_cast<std::size_t>(y)];
        std::fill(line.begin(), line.end(), 0);
        const std::int64_t* at = rows.data() + window.first * stride;
        for (const std::int64_t weight : window.weights)
            for (std::int64_t& sum : line) sum += weight * *at++;
        for (std::int64_t x = 0; x < stride; ++x) {
            const std::int64_t all = window.sum * columns[static_cast<std::size_t>(x / channels)].sum;
            out[static_cast<std::size_t>(y * stride + x)] =
                static_cast<std::uint8_t>((line[static_cast<std::size_t>(x)] + all / 2) / all);
        }
    }
    return out;
}

// Without what is hardly seen, cut to what is left; `alpha` is the channel that tells.
template <std::int64_t channels, std::int64_t alpha>
std::vector<std::uint8_t> cut_to_seen(const std::vector<std::uint8_t>& pixels, Size& size) {
    std::int64_t left = size.width, right = 0, top = size.height, bottom = 0;
    const auto is_seen = [&](std::int64_t x, std::int64_t y) {
        return pixels[static_cast<std::size_t>((y * size.width + x) * channels + alpha)] >= hardly_seen;
    };
    for (std::int64_t y = 0; y < size.height; ++y)
        for (std::int64_t x = 0; x < size.width; ++x) {
            if (!is_seen(x, y)) continue;
            left = std::min(left, x), right = std::max(right, x + 1);
            top = std::min(top, y), bottom = std::max(bottom, y + 1);
        }
    const Size cut{std::max<std::int64_t>(right - left, 0), std::max<std::int64_t>(bottom - top, 0)};
    std::vector<std::uint8_t> out(static_cast<std::size_t>(cut.width * cut.height * channels));
    for (std::int64_t y = 0; y < cut.height; ++y)
        for (std::int64_t x = 0; x < cut.width; ++x)
            if (is_seen(left + x, top + y))
                std::memcpy(&out[static_cast<std::size_t>((y * cut.width + x) * channels)],
                            &pixels[static_cast<std::size_t>(((top + y) * size.width + left + x) * channels)],
                            channels);
    size = cut;
    return out;
}

}  // namespace

Colour Sprite::mean() const {
    std::array<std::int64_t, 4> sums{};
    for (std::size_t i = 0; i < pixels.size(); ++i) sums[i % 4] += pixels[i];
    Colour colour{};
    for (std::size_t c = 0; c < 3 && sums[3] > 0; ++c) colour[c] = static_cast<std::uint8_t>(sums[c] * 255 / sums[3]);
    return colour;
}

Sprite sprite_of(const formats::TransparentImage& image) {
    std::vector<std::uint8_t> pixels = image.pixels;
    for (std::size_t i = 0; i < pixels.size(); i += 4)
        for (std::size_t c = 0; c < 3; ++c) pixels[i + c] = divided_by_255(unsigned{pixels[i + c]} * pixels[i + 3]);
    Size size{image.width, image.height};
    Sprite sprite;
    sprite.pixels = cut_to_seen<4, 3>(pixels, size);
    sprite.width = size.width, sprite.height = size.height;
    return sprite;
}

Sprite coloured(const Mask& mask, Colour colour) {
    Sprite sprite{mask.width, mask.height, std::vector<std::uint8_t>(mask.cover.size() * 4)};
    for (std::size_t i = 0; i < mask.cover.size(); ++i) {
        for (std::size_t c = 0; c < 3; ++c)
            sprite.pixels[i * 4 + c] = divided_by_255(unsigned{colour[c]} * mask.cover[i]);
        sprite.pixels[i * 4 + 3] = mask.cover[i];
    }
    return sprite;
}

Sprite scaled(const Sprite& sprite, std::int64_t side) {
    check(sprite.width > 0 && sprite.height > 0 && side > 0, "a sprite of ", sprite.width, " × ", sprite.height,
          " pixels cannot be scaled to ", side);
    const std::int64_t longer = std::max(sprite.width, sprite.height);
    const auto share = [&](std::int64_t length) {
        return std::max<std::int64_t>(1, (length * side + longer / 2) / longer);
    };
    Size size{share(sprite.width), share(sprite.height)};
    const std::vector<std::uint8_t> pixels = resampled<4>(sprite.pixels, {sprite.width, sprite.height}, size);
    Sprite result;
    result.pixels = cut_to_seen<4, 3>(pixels, size);
    result.width = size.width, result.height = size.height;
    return result;
}

Mask scaled(const Mask& mask, std::int64_t width, std::int64_t height) {
    check(mask.width > 0 && mask.height > 0 && width > 0 && height > 0, "a mask of ", mask.width, " × ", mask.height,
          " pixels cannot be scaled to ", width, " × ", height);
    Size size{width, height};
    const std::vector<std::uint8_t> cover = resampled<1>(mask.cover, {mask.width, mask.height}, size);
    Mask result;
    result.cover = cut_to_seen<1, 0>(cover, size);
    result.width = size.width, result.height = size.height;
    return result;
}

void lay(formats::Image& onto, const Sprite& sprite, std::int64_t left, std::int64_t top, bool mirrored) {
    for (std::int64_t y = 0; y < sprite.height; ++y) {
        const std::uint8_t* from = sprite.pixels.data() + y * sprite.width * 4;
        std::uint8_t* to = onto.row(top + y) + left * 3;
        for (std::int64_t x = 0; x < sprite.width; ++x, to += 3) {
            const std::uint8_t* pixel = from + (mirrored ? sprite.width - 1 - x : x) * 4;
            const unsigned rest = 255u - pixel[3];
            for (int c = 0; c < 3; ++c)
                to[c] = static_cast<std::uint8_t>(std::min(255u, unsigned{pixel[c]} + divided_by_255(to[c] * rest)));
        }
    }
}

}  // namespace tessera::scenes
