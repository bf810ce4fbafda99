// Images as models see them: the reference's numbers, and the parts of the pipeline by their definitions.
#include "tessera/data/image_processor.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/goldens.h"

namespace tessera::data {
namespace {

using formats::Image;
using formats::ImageProcessorConfig;
using testing::expect_error;

// Each pixel tells where it was.
Image numbered(std::int64_t width, std::int64_t height) {
    Image image(width, height);
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
            image.row(y)[x * 3] = static_cast<std::uint8_t>(x + 1);
            image.row(y)[x * 3 + 1] = static_cast<std::uint8_t>(y + 1);
        }
    return image;
}

TEST(ImageProcessor, GivesTheReferencesPixelValues) {
    const testing::Golden golden("image-preprocess/expected.safetensors");
    const Image image = formats::read_image(testing::golden_path("image-preprocess/picture.png"));
    const Tensor values = pixel_values({&image, 1}, {});
    EXPECT_EQ(values.shape(), (Shape{1, 3, 224, 224}));
    EXPECT_EQ(values.to_vector<float>(), golden["paligemma_224"].to_vector<float>());
}

TEST(ImageProcessor, TheShortestEdgeKeepsTheProportions) {
    const ImageProcessorConfig settings{.size = {.shortest_edge = 10}};
    const auto size_of = [&](std::int64_t width, std::int64_t height) {
        const Image out = resized(Image(width, height), settings);
        return std::pair(out.width, out.height);
    };
    EXPECT_EQ(size_of(20, 20), std::pair(10L, 10L));
    EXPECT_EQ(size_of(20, 39), std::pair(10L, 19L));  // 19.5 is cut, not rounded
    EXPECT_EQ(size_of(39, 20), std::pair(19L, 10L));
    EXPECT_EQ(size_of(5, 6), std::pair(10L, 12L));
    expect_error([&] { resized(Image(1, 100'000'000), settings); }, {"1 × 100000000", "10 × 1000000000", "limit"});
}

// A crop's pixel (x, y) is the image's (x + ⌊(W − w)/2⌋, …), or black outside of it.
TEST(ImageProcessor, TheMiddleIsCroppedOrLaidOnBlack) {
    const auto floor_half = [](std::int64_t value) { return (value - (value & 1)) / 2; };
    for (const std::int64_t width : {1, 4, 5, 8, 9})
        for (const std::int64_t height : {2, 5, 7})
            for (const std::int64_t crop_width : {4, 5})
                for (const std::int64_t crop_height : {3, 6}) {
                    const Image image = numbered(width, height), out = middle(image, crop_height, crop_width);
                    ASSERT_EQ(out.width, crop_width);
                    ASSERT_EQ(out.height, crop_height);
                    for (std::int64_t y = 0; y < crop_height; ++y)
                        for (std::int64_t x = 0; x < crop_width; ++x) {
                            const std::int64_t column = x + floor_half(width - crop_width);
                            const std::int64_t line = y + floor_half(height - crop_height);
                            const bool inside = column >= 0 && column < width && line >= 0 && line < height;
                            EXPECT_EQ(out.row(y)[x * 3], inside ? column + 1 : 0);
                            EXPECT_EQ(out.row(y)[x * 3 + 1], inside ? line + 1 : 0);
                        }
                }
}

TEST(ImageProcessor, EachStepCanBeLeftOut) {
    Image image(2, 1);
    image.pixels = {0, 51, 255, 102, 204, 10};
    ImageProcessorConfig settings{.resizes = false, .rescales = false, .normalises = false};
    EXPECT_EQ(pixel_values({&image, 1}, settings).to_vector<float>(), (std::vector<float>{0, 102, 51, 204, 255, 10}));
    settings.rescales = true;
    settings.scale = 0.5;
    EXPECT_EQ(pixel_values({&image, 1}, settings).to_vector<float>(), (std::vector<float>{0, 51, 25.5, 102, 127.5, 5}));
    settings.normalises = true;
    settings.mean = {1, 2, 3};
    settings.deviation = {1, 2, 0.5};
    EXPECT_EQ(pixel_values({&image, 1}, settings).to_vector<float>(), (std::vector<float>{-1, 50, 11.75, 50, 249, 4}));
}

TEST(ImageProcessor, WhatAModelTakesIsLimited) {
    const Image large(4097, 4096);
    ImageProcessorConfig settings{.resizes = false};
    expect_error([&] { pixel_values({&large, 1}, settings); }, {"4097 × 4096", "limit of 16777216"});
    settings.crops = true;
    settings.crop = {.height = 2, .width = 2};
    EXPECT_EQ(pixel_values({&large, 1}, settings).shape(), (Shape{1, 3, 2, 2}));
    const Image thin(1, 200'000);
    expect_error([&] { pixel_values({&thin, 1}, {.size = {.shortest_edge = 224}}); }, {"1 × 200000", "224 × 44800000"});
    expect_error([&] { pixel_values({&thin, 1}, {.size = {.shortest_edge = 9}}); }, {"1 × 200000", "9 × 1800000"});
}

TEST(ImageProcessor, PicturesOfOneBatchComeOutAtOneSize) {
    const Image images[] = {numbered(4, 8), numbered(8, 4), numbered(4, 8)};
    EXPECT_EQ(pixel_values(images, {}).shape(), (Shape{3, 3, 224, 224}));
    const ImageProcessorConfig edge{.size = {.shortest_edge = 4}};
    expect_error([&] { pixel_values(images, edge); }, {"image 2", "8 × 4", "4 × 8"});
    ImageProcessorConfig cropped = edge;
    cropped.crops = true;
    cropped.crop = {.height = 4, .width = 4};
    EXPECT_EQ(pixel_values(images, cropped).shape(), (Shape{3, 3, 4, 4}));
    expect_error([&] { pixel_values({}, edge); }, {"no image"});
}

}  // namespace
}  // namespace tessera::data
