// Charts: where points come to stand, and texts and values that must not break the file.
#include "tessera/plots/line_chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tessera/evaluation/run_comparison.h"

namespace tessera::plots {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
}

// The "x,y" pairs of the first line.
std::vector<ChartPoint> drawn_points(const std::string& svg) {
    const std::size_t begin = svg.find("points=\"") + 8;
    std::string list = svg.substr(begin, svg.find('"', begin) - begin);
    std::vector<ChartPoint> points;
    for (std::size_t at = 0; at < list.size();) {
        std::size_t used = 0;
        ChartPoint point;
        point.x = std::stod(list.substr(at), &used);
        at += used + 1;
        point.y = std::stod(list.substr(at), &used);
        at += used + 1;
        points.push_back(point);
    }
    return points;
}

TEST(LineChart, EqualStepsAreEqualDistances) {
    const std::vector<ChartPoint> line =
        drawn_points(svg_of({"t", "x", "y", {{"a", {{0, 1}, {10, 2}, {20, 3}}}}, false}));
    ASSERT_EQ(line.size(), 3u);
    EXPECT_NEAR(line[1].x - line[0].x, line[2].x - line[1].x, 0.11);
    EXPECT_NEAR(line[0].y - line[1].y, line[1].y - line[2].y, 0.11);
    EXPECT_GT(line[0].y, line[1].y);  // upwards
}

TEST(LineChart, EqualFactorsAreEqualDistancesOnALogarithmicScale) {
    const std::string svg = svg_of({"t", "x", "y", {{"a", {{256, 1}, {1024, 10}, {4096, 100}, {0, 5}}}}, true});
    const std::vector<ChartPoint> line = drawn_points(svg);
    ASSERT_EQ(line.size(), 3u);  // 0 has no logarithm
    EXPECT_NEAR(line[1].x - line[0].x, line[2].x - line[1].x, 0.11);
    EXPECT_NEAR(line[0].y - line[1].y, line[1].y - line[2].y, 0.11);
    EXPECT_EQ(count(svg, ">1024<"), 1u);
}

TEST(LineChart, NothingBreaksTheFile) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(drawn_points(svg_of({"t", "x", "y", {{"a", {{0, nan}, {1, 2}, {2, INFINITY}, {3, 2}}}}, false})).size(),
              2u);
    for (const bool is_logarithmic : {false, true}) {
        for (const LineChart& chart :
             {LineChart{"<b>&", "x", "y", {}, is_logarithmic}, LineChart{"<b>&", "x", "y", {{"a", {}}}, is_logarithmic},
              LineChart{"<b>&", "x", "y", {{"<i>", {{1, 2}}}}, is_logarithmic}}) {
            const std::string svg = svg_of(chart);
            EXPECT_EQ(svg.find("nan"), svg.npos) << svg;
            EXPECT_EQ(svg.find("inf"), svg.npos) << svg;
            EXPECT_EQ(svg.find("<b>"), svg.npos);
            EXPECT_EQ(svg.find("<i>"), svg.npos);
            EXPECT_TRUE(svg.ends_with("</svg>\n"));
        }
    }
}

TEST(LineChart, LongRunsStaySmallFiles) {
    std::vector<evaluation::RunStats> runs;
    for (int run = 0; run < 8; ++run) {
        evaluation::RunStats& figures = runs.emplace_back(evaluation::RunStats{.name = text_of("run ", run)});
        for (std::int64_t step = 1; step <= 100'000; ++step)
            figures.losses.push_back({step, 2 + 3 / std::sqrt(static_cast<double>(step))});
        figures.validation = {{50'000, 2.1}, {100'000, 2.05}};
    }
    const std::string svg = svg_of(evaluation::loss_curves(runs, "eight runs"));
    EXPECT_LT(svg.size(), 30'000u);
    EXPECT_EQ(count(svg, "<polyline"), 8u);
    EXPECT_EQ(count(svg, "<circle"), 16u + 1);  // one says what dots are
    EXPECT_NE(svg.find(">training, smoothed<"), svg.npos);
    EXPECT_NE(svg.find(">validation<"), svg.npos);
}

}  // namespace
}  // namespace tessera::plots
