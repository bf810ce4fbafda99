// Boxes out of a model's words, and onto an image.
#include "tessera/data/detections.h"

#include <gtest/gtest.h>

#include "tessera/data/bitmap_font.h"

namespace tessera::data {
namespace {

using formats::Image;

std::string segment_tokens(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "<seg0" + std::string(i < 10 ? "0" : "") + std::to_string(i) + ">";
    return text;
}

TEST(Detections, BoxesWithLabels) {
    const auto found =
        read_detections("<loc0256><loc0128><loc0512><loc1023> a cat ; <loc0000><loc0001><loc0002><loc0003> dog");
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].label, "a cat");
    EXPECT_EQ(found[0].locations, (std::array{256, 128, 512, 1023}));
    EXPECT_TRUE(found[0].segment.empty());
    EXPECT_EQ(found[1].label, "dog");
    EXPECT_EQ(found[1].locations, (std::array{0, 1, 2, 3}));
    const Detection::Box box = found[0].box(2048, 1024);
    EXPECT_EQ(box.left, 256);
    EXPECT_EQ(box.top, 256);
    EXPECT_EQ(box.right, 2046);
    EXPECT_EQ(box.bottom, 512);
}

TEST(Detections, SegmentsKeepTheirCodes) {
    const auto found = read_detections("<loc0001><loc0002><loc0003><loc0004>" + segment_tokens(16) + " cat");
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].label, "cat");
    ASSERT_EQ(found[0].segment.size(), 16u);
    EXPECT_EQ(found[0].segment[11], 11);
    const auto half = read_detections("<loc0001><loc0002><loc0003><loc0004>" + segment_tokens(15) + " cat");
    ASSERT_EQ(half.size(), 1u);
    EXPECT_TRUE(half[0].segment.empty());
    EXPECT_EQ(half[0].label, "cat");
}

TEST(Detections, WhatIsNoBoxIsPassedOver) {
    for (const char* text :
         {"", "no cat here", ";;;", "<loc0001>", "<loc0001><loc0002><loc0003> cat", "<loc", "<loc>", "<loc12>",
          "<loc0001", "<loc1024><loc0001><loc0002><loc0003> cat", "<loc00a1><loc0001><loc0002><loc0003>",
          "<loc-001><loc0001>", "<loc0001> ; <loc0002> ; <loc0003> ; <loc0004>"})
        EXPECT_TRUE(read_detections(text).empty()) << text;
    const std::string box = "<loc0001><loc0002><loc0003><loc0004>";
    EXPECT_EQ(read_detections("Here: " + box + " cat").size(), 1u);
    EXPECT_EQ(read_detections("<loc0009>" + box + " cat")[0].locations[0], 9);  // the first four are the box
    const auto joined = read_detections(box + box + "cat;" + box + ";");
    ASSERT_EQ(joined.size(), 3u);
    EXPECT_EQ(joined[0].label, "");
    EXPECT_EQ(joined[1].label, "cat");
    EXPECT_EQ(joined[2].label, "");
    EXPECT_EQ(read_detections("<loc0001> <loc0002> <loc0003> <loc0004> cat<eos>")[0].label, "cat");
}

TEST(Detections, AsJson) {
    const auto found = read_detections("<loc0512><loc0768><loc0256><loc0256> cat");  // top below bottom
    EXPECT_EQ(to_json(found, 100, 200).dump(0),
              R"([{"label":"cat","left":25,"top":50,"right":75,"bottom":100,"locations":[512,768,256,256]}])");
    EXPECT_EQ(to_json({}, 1, 1).dump(0), "[]");
}

std::int64_t painted(const Image& image) {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < image.pixels.size(); i += 3)
        count += image.pixels[i] + image.pixels[i + 1] + image.pixels[i + 2] != 0;
    return count;
}

TEST(Detections, AreDrawnAsFrames) {
    Image image(64, 64);
    draw(image, read_detections("<loc0256><loc0256><loc0768><loc0768>"));
    // A frame from 16 to 48, two pixels thick.
    EXPECT_EQ(painted(image), 32 * 32 - 28 * 28);
    for (const auto& [x, y] : {std::pair{16, 16}, {47, 47}, {17, 30}, {30, 46}}) EXPECT_NE(image.row(y)[x * 3], 0);
    for (const auto& [x, y] : {std::pair{15, 16}, {48, 47}, {18, 30}, {30, 45}, {32, 32}})
        EXPECT_EQ(image.row(y)[x * 3], 0);
}

TEST(Detections, LabelsAreWrittenInWhiteOnTheirColour) {
    Image image(64, 64);
    draw(image, read_detections("<loc0512><loc0256><loc0768><loc0768> I"));
    std::vector<std::string> shown;
    for (int y = 0; y < glyph_height; ++y) {
        shown.emplace_back();
        for (int x = 0; x < glyph_width; ++x) {
            const std::uint8_t* pixel = image.row(32 - 9 + 1 + y) + (16 + 1 + x) * 3;
            shown.back() += pixel[0] == 255 && pixel[1] == 255 && pixel[2] == 255 ? '#' : '.';
        }
    }
    EXPECT_EQ(shown, (std::vector<std::string>{".###.", "..#..", "..#..", "..#..", "..#..", "..#..", ".###."}));
}

// Boxes and labels at or past the edges, of tiny images, in any letters: nothing is written outside of the image.
TEST(Detections, DrawingStaysWithinTheImage) {
    for (const auto& [width, height] : {std::pair{1, 1}, {3, 50}, {50, 3}, {640, 480}}) {
        Image image(width, height);
        draw(image, read_detections("<loc0000><loc0000><loc1023><loc1023> a very long label, größer 猫\n;"
                                    "<loc1023><loc1023><loc1023><loc1023> x;<loc0000><loc1000><loc0001><loc1023> yy"));
        EXPECT_EQ(image.pixels.size(), static_cast<std::size_t>(width * height * 3));
        EXPECT_GT(painted(image), 0);
    }
}

TEST(BitmapFont, EveryCharacterHasAShapeOfItsOwn) {
    std::set<Glyph> shapes;
    for (int c = ' '; c <= '~'; ++c) {
        for (const std::uint8_t row : glyph_of(static_cast<unsigned char>(c))) EXPECT_LT(row, 1 << glyph_width);
        EXPECT_TRUE(shapes.insert(glyph_of(static_cast<unsigned char>(c))).second) << static_cast<char>(c);
    }
    EXPECT_EQ(glyph_of(200), glyph_of(10));
}

}  // namespace
}  // namespace tessera::data
