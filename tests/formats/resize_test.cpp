// Resizing against Pillow's pixels, and what holds for every filter and size.
#include "tessera/formats/image/resize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "formats/image_files.h"
#include "support/expect_error.h"
#include "tessera/core/parallel.h"
#include "tessera/core/random.h"

namespace tessera::formats {
namespace {

constexpr Resampling every[] = {Resampling::Nearest, Resampling::Lanczos, Resampling::Bilinear,
                                Resampling::Bicubic, Resampling::Box,     Resampling::Hamming};

Image noise(std::int64_t width, std::int64_t height, std::uint64_t seed) {
    Image image(width, height);
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
        image.pixels[i] = static_cast<std::uint8_t>(random_bits({.seed = seed}, i));
    return image;
}

Image mirrored(const Image& image) {
    Image out = image;
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x)
            std::copy_n(image.row(y) + x * 3, 3, out.row(y) + (image.width - 1 - x) * 3);
    return out;
}

Image transposed(const Image& image) {
    Image out(image.height, image.width);
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x) std::copy_n(image.row(y) + x * 3, 3, out.row(x) + y * 3);
    return out;
}

TEST(Resize, GivesPillowsPixels) {
    const testing::Golden golden("image-preprocess/expected.safetensors");
    const Image image = read_image(testing::golden_path("image-preprocess/picture.png"));
    EXPECT_EQ(image.pixels, golden["rgb"].to_vector<std::uint8_t>());
    for (const int size : {224, 32}) {
        EXPECT_EQ(resize(image, size, size, Resampling::Bicubic).pixels,
                  golden["bicubic_" + std::to_string(size)].to_vector<std::uint8_t>());
        EXPECT_EQ(resize(image, size, size, Resampling::Bilinear).pixels,
                  golden["bilinear_" + std::to_string(size)].to_vector<std::uint8_t>());
    }
}

TEST(Resize, TheSameSizeIsTheSameImage) {
    const Image image = noise(17, 11, 1);
    for (const Resampling filter : every) EXPECT_EQ(resize(image, 17, 11, filter), image);
}

TEST(Resize, AConstantStaysConstant) {
    Image image(23, 7);
    std::fill(image.pixels.begin(), image.pixels.end(), std::uint8_t{201});
    for (const Resampling filter : every)
        for (const auto& [width, height] : {std::pair{1, 1}, {5, 40}, {46, 3}, {224, 224}})
            for (const std::uint8_t level : resize(image, width, height, filter).pixels) ASSERT_EQ(level, 201);
}

TEST(Resize, MirroringAndResizingCommute) {
    const Image image = noise(31, 19, 2);
    for (const Resampling filter :
         {Resampling::Lanczos, Resampling::Bilinear, Resampling::Bicubic, Resampling::Hamming})
        for (const auto& [width, height] : {std::pair{7, 5}, {64, 48}, {31, 50}, {90, 19}})
            // A centre may round to either side of a tie.
            EXPECT_LE(testing::largest_difference(resize(mirrored(image), width, height, filter),
                                                  mirrored(resize(image, width, height, filter))),
                      1);
}

TEST(Resize, EachDirectionIsTheOtherTransposed) {
    const Image image = noise(21, 33, 3);
    for (const Resampling filter : every)
        for (const int size : {4, 50})
            EXPECT_EQ(transposed(resize(image, 21, size, filter)), resize(transposed(image), size, 21, filter));
}

// Against the definition in doubles: the weighted mean of each direction in turn, rounded to a level after each.
TEST(Resize, IsTheWeightedMeanUnderTheFilter) {
    const auto cubic = [](double x) {
        x = std::abs(x);
        return x < 1 ? 1.5 * x * x * x - 2.5 * x * x + 1 : x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
    };
    const Image image = noise(40, 1, 4);
    for (const int width : {9, 13, 80}) {
        const Image ours = resize(image, width, 1, Resampling::Bicubic);
        const double scale = 40.0 / width, stretch = std::max(scale, 1.0);
        for (int x = 0; x < width; ++x)
            for (int c = 0; c < 3; ++c) {
                double sum = 0, weights = 0;
                for (int i = 0; i < 40; ++i) {
                    const double weight = cubic((i + 0.5 - (x + 0.5) * scale) / stretch);
                    sum += weight * image.pixels[static_cast<std::size_t>(i * 3 + c)];
                    weights += weight;
                }
                EXPECT_NEAR(ours.pixels[static_cast<std::size_t>(x * 3 + c)], std::clamp(sum / weights, 0.0, 255.0),
                            0.6);
            }
    }
}

TEST(Resize, NearestTakesTheMiddle) {
    Image image(4, 1);
    for (int x = 0; x < 4; ++x) image.pixels[static_cast<std::size_t>(x * 3)] = static_cast<std::uint8_t>(x);
    const auto reds = [&](int width) {
        std::vector<int> values;
        const Image out = resize(image, width, 1, Resampling::Nearest);
        for (int x = 0; x < width; ++x) values.push_back(out.pixels[static_cast<std::size_t>(x * 3)]);
        return values;
    };
    EXPECT_EQ(reds(2), (std::vector{1, 3}));
    EXPECT_EQ(reds(8), (std::vector{0, 0, 1, 1, 2, 2, 3, 3}));
    EXPECT_EQ(reds(3), (std::vector{0, 2, 3}));
}

TEST(Resize, GivesTheSameBitsAtAnyThreadCount) {
    const Image image = noise(200, 150, 5);
    const int threads = thread_count();
    set_thread_count(1);
    const Image one = resize(image, 77, 91, Resampling::Lanczos);
    set_thread_count(3);
    EXPECT_EQ(resize(image, 77, 91, Resampling::Lanczos), one);
    set_thread_count(threads);
}

// 1 × 64 millions would be rows of 64 millions at any width.
TEST(Resize, WhatIsBetweenThePassesIsLimitedToo) {
    const ImageLimits limits;
    const Image tall(1, 1 << 19);
    EXPECT_EQ(resize(tall, 128, 4, Resampling::Box).width, 128);
    testing::expect_error([&] { resize(tall, 129, 4, Resampling::Box); }, {"1 × 524288", "129 × 4", "67108864"});
    testing::expect_error([&] { resize(tall, 129, 4, Resampling::Nearest); }, {"1 × 524288", "129 × 4"});
    testing::expect_error([&] { resize(Image(4, 4), 1 << 14, 1 << 13, Resampling::Box); }, {"16384 × 8192"});
    testing::expect_error([&] { resize(Image(4, 4), limits.side + 1, 1, Resampling::Box); }, {"1048577 × 1"});
}

TEST(Resize, RefusesEmptySizes) {
    testing::expect_error([] { resize(Image(4, 4), 0, 4, Resampling::Box); }, {"resize", "0 × 4"});
    testing::expect_error([] { resize(Image(), 4, 4, Resampling::Box); }, {"resize", "0 × 0"});
    testing::expect_error([] { resize(Image(4, 4), 3, 3, static_cast<Resampling>(9)); }, {"resize", "9"});
}

}  // namespace
}  // namespace tessera::formats
