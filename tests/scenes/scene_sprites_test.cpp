// Sprites: cut to what is seen, scaled by whole numbers, laid over a ground; and the sheet they are shown on.
#include "tessera/scenes/sprites.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "tessera/data/detections.h"
#include "tessera/scenes/contact_sheet.h"
#include "tessera/scenes/shapes.h"

namespace tessera::scenes {
namespace {

using testing::expect_error;

// `colour` with this alpha in a rectangle, nothing around it.
formats::TransparentImage rectangle(std::int64_t size, data::Detection::Box box, Colour colour, std::uint8_t alpha) {
    formats::TransparentImage image(size, size);
    for (std::int64_t y = box.top; y < box.bottom; ++y)
        for (std::int64_t x = box.left; x < box.right; ++x) {
            std::copy_n(colour.data(), 3, image.row(y) + x * 4);
            image.row(y)[x * 4 + 3] = alpha;
        }
    return image;
}

TEST(SceneSprites, AreCutToWhatIsSeen) {
    const Sprite sprite = sprite_of(rectangle(20, {3, 5, 11, 9}, {200, 100, 50}, 255));
    EXPECT_EQ(sprite.width, 8);
    EXPECT_EQ(sprite.height, 4);
    EXPECT_EQ(sprite.mean(), (Colour{200, 100, 50}));
    EXPECT_EQ(sprite_of(rectangle(20, {3, 5, 11, 9}, {200, 100, 50}, 20)).width, 0);  // hardly seen
    expect_error([] { scaled(Sprite{}, 10); }, {"0 × 0"});
}

TEST(SceneSprites, ScalingKeepsColoursAndProportions) {
    const Sprite sprite = sprite_of(rectangle(200, {0, 0, 200, 100}, {200, 100, 50}, 255));
    for (const std::int64_t side : {1, 7, 50, 199, 300}) {
        const Sprite small = scaled(sprite, side);
        EXPECT_EQ(small.width, side);
        EXPECT_EQ(small.height, std::max<std::int64_t>(1, (side + 1) / 2));
        for (std::size_t i = 0; i < small.pixels.size(); ++i)
            EXPECT_EQ(small.pixels[i], (std::array<int, 4>{200, 100, 50, 255})[i % 4]);
    }
}

// A triangle filter, worked out by hand: two pixels to one weigh alike, and an edge is blurred evenly.
TEST(SceneSprites, ScalingIsATriangleFilter) {
    const Mask mask{4, 1, {0, 100, 200, 60}};
    const Mask half = scaled(mask, 2, 1);
    ASSERT_EQ(half.width, 2);
    // Weights of pixels 0, 1, 2, 3 for the first half: 3, 3, 1, 0; for the second: 0, 1, 3, 3.
    EXPECT_EQ(half.cover[0], (3 * 0 + 3 * 100 + 1 * 200 + 3) / 7);
    EXPECT_EQ(half.cover[1], (1 * 100 + 3 * 200 + 3 * 60 + 3) / 7);
}

TEST(SceneSprites, AreLaidOverTheGround) {
    formats::Image ground(4, 2);
    std::fill(ground.pixels.begin(), ground.pixels.end(), std::uint8_t{100});
    Sprite sprite{2, 1, {200, 0, 0, 255, 25, 25, 25, 51}};
    lay(ground, sprite, 1, 1, false);
    EXPECT_EQ(ground.row(1)[3], 200);
    EXPECT_EQ(ground.row(1)[4], 0);
    EXPECT_EQ(ground.row(1)[6], 25 + 80);
    EXPECT_EQ(ground.row(1)[0], 100);
    EXPECT_EQ(ground.row(0)[3], 100);
    lay(ground, sprite, 1, 0, true);
    EXPECT_EQ(ground.row(0)[6], 200);
    EXPECT_EQ(ground.row(0)[3], 105);
}

TEST(SceneShapes, CoverTheirShareOfASquare) {
    const auto share = [](SceneShape shape) {
        const Mask mask = shape_mask(shape, 80);
        std::int64_t sum = 0;
        for (const std::uint8_t cover : mask.cover) sum += cover;
        return static_cast<double>(sum) / (255.0 * 80 * 80);
    };
    EXPECT_NEAR(share(SceneShape::Square), 1, 1e-9);
    EXPECT_NEAR(share(SceneShape::Circle), 3.14159265 / 4, 0.005);
    EXPECT_NEAR(share(SceneShape::Triangle), 887.0 / 2048, 0.01);
    EXPECT_NEAR(share(SceneShape::Star), 0.34, 0.03);
    for (std::size_t shape = 0; shape < shape_names.size(); ++shape) {
        const Mask mask = shape_mask(static_cast<SceneShape>(shape), 31);
        for (std::int64_t y = 0; y < mask.height && shape != 1; ++y)
            for (std::int64_t x = 0; x < mask.width; ++x)  // each is its own mirror image
                EXPECT_NEAR(mask.cover[static_cast<std::size_t>(y * mask.width + x)],
                            mask.cover[static_cast<std::size_t>((y + 1) * mask.width - 1 - x)], 16)
                    << shape_names[shape];
    }
}

TEST(ContactSheet, HoldsEveryImageAndItsTexts) {
    formats::Image red(100, 100);
    for (std::size_t i = 0; i < red.pixels.size(); i += 3) red.pixels[i] = 255;
    const std::vector<SheetEntry> entries(5, {red, "what is it?", "a red image"});
    const formats::Image sheet = contact_sheet(entries, 3);
    std::size_t red_pixels = 0, black_pixels = 0;
    for (std::size_t i = 0; i < sheet.pixels.size(); i += 3) {
        red_pixels += sheet.pixels[i] == 255 && sheet.pixels[i + 1] == 0;
        black_pixels += sheet.pixels[i] == 0 && sheet.pixels[i + 1] == 0;
    }
    EXPECT_EQ(red_pixels, 5u * 200 * 200);  // each shown twice as large
    EXPECT_GT(black_pixels, 5u * 50);
    EXPECT_LT(sheet.width, 4 * 200);
    const std::vector<SheetEntry> boxed(1, {red, "detect x", "<loc0100><loc0100><loc0900><loc0900> x"});
    const formats::Image framed = contact_sheet(boxed, 1);
    EXPECT_GT(std::count(framed.pixels.begin(), framed.pixels.end(), 25), 100);  // green of the frame's red
    expect_error([] { contact_sheet({}, 3); }, {"0 images"});
}

}  // namespace
}  // namespace tessera::scenes
