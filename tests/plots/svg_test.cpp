#include "tessera/plots/svg.h"

#include <gtest/gtest.h>

namespace tessera::plots {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
    return count;
}

TEST(Svg, TextsCannotBreakTheImage) {
    Svg svg(10, 20);
    svg.text(1, 2, "a<b & \x01\"c\">", {.anchor = Anchor::End, .turned = 45});
    const std::string out = svg.finished();
    EXPECT_NE(out.find(">a&lt;b &amp;  \"c\"&gt;</text>"), out.npos) << out;
    EXPECT_NE(out.find("rotate(45 1 2)"), out.npos);
    EXPECT_TRUE(out.starts_with("<svg ") && out.ends_with("</svg>\n"));
}

TEST(Svg, HeatMapsDrawNeighboursOfOneShadeAsOne) {
    Svg svg(10, 10);
    const std::vector<double> values{0, 1, 1, 0.5, 0, 0};
    svg.heat_map({.width = 9, .height = 4}, values, 3, 1);
    const std::string out = svg.finished();
    EXPECT_NE(out.find("M1 0.5h2"), out.npos) << out;
    EXPECT_NE(out.find("M0 1.5h1"), out.npos);
    EXPECT_EQ(count_of(out, "<path"), 2u);
    EXPECT_NE(out.find("scale(3 2)"), out.npos);
    svg.heat_map({}, {}, 0, 1);  // nothing to draw
}

TEST(Svg, GridsHaveRoundNumbers) {
    EXPECT_DOUBLE_EQ(grid_distance(5), 1);
    EXPECT_DOUBLE_EQ(grid_distance(1000), 200);
    EXPECT_DOUBLE_EQ(grid_distance(0.03), 0.005);
    Svg svg(100, 100);
    draw_grid(svg, {.left = 10, .top = 10, .width = 80, .height = 80, .x_high = 5, .y_low = -1, .y_high = 1});
    const std::string out = svg.finished();
    for (const char* number : {">-1<", ">0<", ">0.5<", ">5<"}) EXPECT_NE(out.find(number), out.npos) << number;
}

TEST(Svg, AnAreaPlacesValues) {
    const PlotArea area{
        .left = 10, .top = 20, .width = 100, .height = 50, .x_low = 1, .x_high = 3, .y_low = 0, .y_high = 5};
    EXPECT_DOUBLE_EQ(area.at(2, 5).x, 60);
    EXPECT_DOUBLE_EQ(area.at(2, 5).y, 20);
    EXPECT_DOUBLE_EQ(area.at(1, 0).y, 70);
    EXPECT_EQ(placed(area, std::vector<double>{1, 2}, std::vector<double>{1}).size(), 1u);
}

}  // namespace
}  // namespace tessera::plots
