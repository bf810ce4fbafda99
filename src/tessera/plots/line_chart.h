// Lines over one axis as an SVG: the losses of several runs, or a cost over a growing size.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tessera::plots {

struct ChartPoint {
    double x = 0, y = 0;
};

struct ChartLine {
    std::string name;
    std::vector<ChartPoint> points;
    std::vector<ChartPoint> dots = {};  // drawn in the line's colour, not joined
};

struct LineChart {
    std::string title, x_label, y_label;
    std::vector<ChartLine> lines;
    bool is_logarithmic = false;                 // both axes; points must be above 0
    std::optional<double> highest_y = {};        // what is above is cut off
    std::string line_name = {}, dots_name = {};  // what lines and dots are of each; empty: it goes without saying
};

// Values that are no numbers are passed over. Long lines are thinned, so that the file stays small.
std::string svg_of(const LineChart& chart);

}  // namespace tessera::plots
