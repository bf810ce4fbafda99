// Plots as SVG 1.1: lines, dots, texts, heat maps, and axes with a grid. Coordinates have one decimal, which is finer
// than a pixel, so that files stay small.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::plots {

struct PlotPoint {
    double x = 0, y = 0;
};

// A rectangle of the image and the values at its edges.
struct PlotArea {
    double left = 0, top = 0, width = 1, height = 1;
    double x_low = 0, x_high = 1, y_low = 0, y_high = 1;

    PlotPoint at(double x, double y) const {
        return {left + width * (x - x_low) / (x_high - x_low), top + height * (y_high - y) / (y_high - y_low)};
    }
    double right() const { return left + width; }
    double bottom() const { return top + height; }
};

enum class Anchor { Start, Middle, End };

struct TextStyle {
    Anchor anchor = Anchor::Start;
    double size = 12;
    const char* colour = "#444";
    double turned = 0;  // degrees, clockwise around the text's place
};

class Svg {
   public:
    Svg(double width, double height);

    void text(double x, double y, std::string_view text, const TextStyle& style = {});
    void line(PlotPoint from, PlotPoint to, const char* colour, double thickness = 1);
    void polyline(std::span<const PlotPoint> points, const char* colour, double thickness = 1);
    void dots(std::span<const PlotPoint> points, const char* colour, double radius);
    void frame(const PlotArea& area, const char* colour = "#bbb");
    // values (rows × columns) from 0 (white) to `most` (dark), the first row on top.
    void heat_map(const PlotArea& area, std::span<const double> values, std::size_t columns, double most);

    std::string finished() const { return body_ + "</svg>\n"; }

   private:
    std::string body_;
};

// Lines across at round values with their numbers, and round numbers below.
void draw_grid(Svg& svg, const PlotArea& area);
// Values of an area, as points of the image.
std::vector<PlotPoint> placed(const PlotArea& area, std::span<const double> x, std::span<const double> y);
// A distance between lines of 1, 2 or 5 times a power of ten that gives about five of them.
double grid_distance(double range);

}  // namespace tessera::plots
