#include "tessera/formats/image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "tessera/core/error.h"
#include "tessera/core/parallel.h"

namespace tessera::formats {
namespace {

double sinc(double x) { return x == 0 ? 1 : std::sin(x * std::numbers::pi) / (x * std::numbers::pi); }

double box_filter(double x) { return x > -0.5 && x <= 0.5 ? 1 : 0; }

double bilinear_filter(double x) { return std::max(0.0, 1 - std::abs(x)); }

double hamming_filter(double x) {
    if (std::abs(x) >= 1) return 0;
    return sinc(x) * (0.54 + 0.46 * std::cos(x * std::numbers::pi));
}

double bicubic_filter(double x) {
    constexpr double a = -0.5;  // Keys 1981
    x = std::abs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
    return 0;
}

double lanczos_filter(double x) { return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0; }

struct Filter {
    double (*weight)(double x);
    double support;
};

Filter filter_of(Resampling resampling) {
    switch (resampling) {
        case Resampling::Box: return {box_filter, 0.5};
        case Resampling::Bilinear: return {bilinear_filter, 1};
        case Resampling::Hamming: return {hamming_filter, 1};
        case Resampling::Bicubic: return {bicubic_filter, 2};
        case Resampling::Lanczos: return {lanczos_filter, 3};
        default: fail("resize: no filter of number ", static_cast<int>(resampling));
    }
}

constexpr int precision_bits = 32 - 8 - 2;  // 8 of the pixel, 2 for filters that overshoot

// For one output position: the weights of `count` input positions from `first` on.
struct Window {
    std::int64_t first = 0, count = 0;
    std::size_t weights = 0;  // where they begin
};
struct Windows {
    std::vector<Window> list;
    std::vector<std::int32_t> weights;
};

Windows windows_of(std::int64_t from, std::int64_t to, const Filter& filter) {
    const double scale = static_cast<double>(from) / static_cast<double>(to), stretch = std::max(scale, 1.0);
    const double support = filter.support * stretch, inverse = 1.0 / stretch;
    Windows windows;
    windows.list.reserve(static_cast<std::size_t>(to));
    std::vector<double> weights;
    for (std::int64_t i = 0; i < to; ++i) {
        const double centre = (static_cast<double>(i) + 0.5) * scale;
        const std::int64_t first = std::max<std::int64_t>(0, static_cast<std::int64_t>(centre - support + 0.5));
        const std::int64_t end = std::min(from, static_cast<std::int64_t>(centre + support + 0.5));
        weights.clear();
        double sum = 0;
        for (std::int64_t x = first; x < end; ++x) {
            weights.push_back(filter.weight((static_cast<double>(x) - centre + 0.5) * inverse));
            sum += weights.back();
        }
        windows.list.push_back({first, end - first, windows.weights.size()});
        for (const double weight : weights) {
            const double fixed = (sum != 0 ? weight / sum : weight) * (1 << precision_bits);
            windows.weights.push_back(static_cast<std::int32_t>(fixed < 0 ? fixed - 0.5 : fixed + 0.5));
        }
    }
    return windows;
}

std::uint8_t to_level(std::int32_t sum) { return static_cast<std::uint8_t>(std::clamp(sum >> precision_bits, 0, 255)); }

constexpr std::int32_t half = 1 << (precision_bits - 1);

Image resize_rows(const Image& image, std::int64_t width, const Filter& filter) {
    const Windows windows = windows_of(image.width, width, filter);
    Image out(width, image.height);
    parallel_for(image.height, 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t y = begin; y < end; ++y) {
            std::uint8_t* to = out.row(y);
            for (const Window& window : windows.list) {
                std::int32_t red = half, green = half, blue = half;
                const std::uint8_t* from = image.row(y) + window.first * 3;
                const std::int32_t* weights = windows.weights.data() + window.weights;
                for (std::int64_t i = 0; i < window.count; ++i, from += 3) {
                    red += from[0] * weights[i];
                    green += from[1] * weights[i];
                    blue += from[2] * weights[i];
                }
                *to++ = to_level(red);
                *to++ = to_level(green);
                *to++ = to_level(blue);
            }
        }
    });
    return out;
}

Image resize_columns(const Image& image, std::int64_t height, const Filter& filter) {
    const Windows windows = windows_of(image.height, height, filter);
    Image out(image.width, height);
    parallel_for(height, 16, [&](std::int64_t begin, std::int64_t end) {
        std::vector<std::int32_t> sums(static_cast<std::size_t>(image.width * 3));
        for (std::int64_t y = begin; y < end; ++y) {
            const Window& window = windows.list[static_cast<std::size_t>(y)];
            std::fill(sums.begin(), sums.end(), half);
            for (std::int64_t i = 0; i < window.count; ++i) {
                const std::uint8_t* from = image.row(window.first + i);
                const std::int32_t weight = windows.weights[window.weights + static_cast<std::size_t>(i)];
                for (std::size_t x = 0; x < sums.size(); ++x) sums[x] += from[x] * weight;
            }
            std::transform(sums.begin(), sums.end(), out.row(y), to_level);
        }
    });
    return out;
}

// Where each output position's middle falls. The steps are added up, as Pillow does it: their rounding counts.
std::vector<std::int64_t> nearest_positions(std::int64_t from, std::int64_t to) {
    const double scale = static_cast<double>(from) / static_cast<double>(to);
    std::vector<std::int64_t> positions;
    double at = scale * 0.5;
    for (std::int64_t i = 0; i < to; ++i, at += scale)
        positions.push_back(std::min(static_cast<std::int64_t>(at), from - 1));
    return positions;
}

Image resize_nearest(const Image& image, std::int64_t width, std::int64_t height) {
    const std::vector<std::int64_t> columns = nearest_positions(image.width, width),
                                    lines = nearest_positions(image.height, height);
    Image out(width, height);
    std::uint8_t* to = out.pixels.data();
    for (const std::int64_t y : lines)
        for (const std::int64_t x : columns) {
            std::memcpy(to, image.row(y) + x * 3, 3);
            to += 3;
        }
    return out;
}

}  // namespace

Image resize(const Image& image, std::int64_t width, std::int64_t height, Resampling resampling) {
    check(image.width > 0 && image.height > 0 && width > 0 && height > 0, "resize: from ", image.width, " × ",
          image.height, " to ", width, " × ", height, " pixels");
    // What is made, and what is between the passes: rows of the new width, as many as there were. The order is part of
    // the result, for levels are rounded after each.
    constexpr ImageLimits limits;
    const bool fits = std::max(width, height) <= limits.side && width <= limits.pixels / height &&
                      width <= limits.pixels / image.height && std::max(image.width, image.height) <= limits.side;
    check(fits, "an image of ", image.width, " × ", image.height, " pixels cannot be resized to ", width, " × ", height,
          ": that takes more than the limit of ", limits.pixels, " pixels, ", limits.side, " a side");
    if (image.width == width && image.height == height) return image;
    if (resampling == Resampling::Nearest) return resize_nearest(image, width, height);
    const Filter filter = filter_of(resampling);
    if (image.width == width) return resize_columns(image, height, filter);
    const Image stretched = resize_rows(image, width, filter);
    return stretched.height == height ? stretched : resize_columns(stretched, height, filter);
}

}  // namespace tessera::formats
