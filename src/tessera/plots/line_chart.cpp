#include "tessera/plots/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace tessera::plots {
namespace {

constexpr double width = 760, height = 400, left = 70, right = 170, top = 44, bottom = 48;
constexpr std::size_t most_points = 160;  // of one line

// Okabe and Ito's colours, which most people can tell apart, and two more.
constexpr const char* colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00",
                                   "#56b4e9", "#7a5195", "#444444", "#8c6d31", "#b2b200"};
const char* colour_of(std::size_t line) { return colours[line % std::size(colours)]; }

struct Axis {
    double low = 0, high = 1;
    bool is_logarithmic = false;

    double share(double value) const {
        return is_logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    }
    void widen(double share) {
        if (is_logarithmic) {
            const double factor = std::max(std::pow(high / low, share), 1.02);
            low /= factor;
            high *= factor;
        } else {
            const bool is_point = high - low <= 1e-9 * std::abs(high);
            const double margin = is_point ? std::max(1e-3, std::abs(high) * 0.1) : (high - low) * share;
            low -= margin;
            high += margin;
        }
    }
};

struct Axes {
    Axis horizontal, vertical;

    double x(double value) const { return left + (width - left - right) * horizontal.share(value); }
    double y(double value) const { return height - bottom - (height - top - bottom) * vertical.share(value); }
};

bool can_be_drawn(const ChartPoint& point, bool is_logarithmic) {
    return std::isfinite(point.x) && std::isfinite(point.y) && (!is_logarithmic || (point.x > 0 && point.y > 0));
}

std::vector<ChartPoint> drawable(const std::vector<ChartPoint>& points, bool is_logarithmic) {
    std::vector<ChartPoint> kept;
    for (const ChartPoint& point : points)
        if (can_be_drawn(point, is_logarithmic)) kept.push_back(point);
    return kept;
}

// Means of neighbours.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points) {
    const std::size_t each = std::max<std::size_t>(1, (points.size() + most_points - 1) / most_points);
    std::vector<ChartPoint> thin;
    for (std::size_t i = 0; i < points.size(); i += each) {
        const std::size_t end = std::min(points.size(), i + each);
        ChartPoint mean;
        for (std::size_t k = i; k < end; ++k) {
            mean.x += points[k].x / static_cast<double>(end - i);
            mean.y += points[k].y / static_cast<double>(end - i);
        }
        thin.push_back(mean);
    }
    return thin;
}

LineChart prepared(const LineChart& chart) {
    LineChart result = chart;
    for (ChartLine& line : result.lines) {
        line.points = thinned(drawable(line.points, chart.is_logarithmic));
        line.dots = drawable(line.dots, chart.is_logarithmic);
    }
    return result;
}

Axes axes_of(const LineChart& chart) {
    Axes axes;
    bool is_first = true;
    for (const ChartLine& line : chart.lines)
        for (const auto* points : {&line.points, &line.dots})
            for (const ChartPoint& point : *points) {
                if (is_first) axes = {{point.x, point.x}, {point.y, point.y}};
                is_first = false;
                axes.horizontal.low = std::min(axes.horizontal.low, point.x);
                axes.horizontal.high = std::max(axes.horizontal.high, point.x);
                axes.vertical.low = std::min(axes.vertical.low, point.y);
                axes.vertical.high = std::max(axes.vertical.high, point.y);
            }
    if (chart.highest_y && *chart.highest_y > axes.vertical.low)
        axes.vertical.high = std::min(axes.vertical.high, *chart.highest_y);
    const bool is_logarithmic = chart.is_logarithmic && !is_first;
    axes.horizontal.is_logarithmic = axes.vertical.is_logarithmic = is_logarithmic;
    axes.horizontal.widen(is_logarithmic ? 0.02 : 0);
    axes.vertical.widen(0.05);
    return axes;
}

// Steps of 1, 2 or 5 times a power of ten that give about five of them; decades on a logarithmic axis.
std::vector<double> ticks_of(const Axis& axis) {
    std::vector<double> ticks;
    if (axis.is_logarithmic) {
        for (double tick = std::pow(10, std::floor(std::log10(axis.low))); tick <= axis.high; tick *= 10)
            if (tick >= axis.low) ticks.push_back(tick);
        return ticks;
    }
    const double raw = (axis.high - axis.low) / 5, power = std::pow(10, std::floor(std::log10(raw)));
    const double share = raw / power, step = power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
    for (double tick = std::ceil(axis.low / step) * step; tick <= axis.high; tick += step)
        ticks.push_back(std::abs(tick) < step / 1e6 ? 0 : tick);
    return ticks;
}

// On a logarithmic axis the sizes that were measured.
std::vector<double> horizontal_ticks(const LineChart& chart, const Axis& axis) {
    if (!axis.is_logarithmic) return ticks_of(axis);
    std::set<double> measured;
    for (const ChartLine& line : chart.lines)
        for (const ChartPoint& point : line.points) measured.insert(point.x);
    return {measured.begin(), measured.end()};
}

std::string escaped(const std::string& text) {
    std::string out;
    for (const char letter : text)
        if (letter == '<')
            out += "&lt;";
        else if (letter == '&')
            out += "&amp;";
        else if (static_cast<unsigned char>(letter) >= 0x20)
            out += letter;
    return out;
}

std::string grid_of(const LineChart& chart, const Axes& axes) {
    std::string svg;
    for (const double tick : ticks_of(axes.vertical))
        svg += fmt::format(
            "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>"
            "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.4g}</text>\n",
            left, width - right, axes.y(tick), left - 8, axes.y(tick) + 4, tick);
    for (const double tick : horizontal_ticks(chart, axes.horizontal))
        svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.7g}</text>\n", axes.x(tick),
                           height - bottom + 18, tick);
    return svg;
}

std::string drawn(const ChartLine& line, const Axes& axes, const char* colour, bool has_marks) {
    std::string path, svg;
    for (const ChartPoint& point : line.points)
        path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", axes.x(point.x), axes.y(point.y));
    svg = fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"/>\n", path, colour);
    for (const ChartPoint& point : has_marks ? line.points : line.dots)
        svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\" fill=\"{}\"/>\n", axes.x(point.x),
                           axes.y(point.y), colour);
    return svg;
}

std::string legend_text(const std::string& text, double y) {
    return fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", width - right + 41, y + 4, escaped(text));
}

std::string legend_of(const LineChart& chart) {
    std::string svg;
    for (std::size_t i = 0; i < chart.lines.size(); ++i) {
        const double y = top + 14 + 20 * static_cast<double>(i);
        svg += fmt::format("<line x1=\"{0}\" x2=\"{1}\" y1=\"{3}\" y2=\"{3}\" stroke=\"{2}\" stroke-width=\"3\"/>",
                           width - right + 14, width - right + 34, colour_of(i), y);
        svg += legend_text(chart.lines[i].name, y);
    }
    constexpr const char* grey = "#888";
    double y = top + 28 + 20 * static_cast<double>(chart.lines.size());
    if (!chart.line_name.empty()) {
        svg += fmt::format("<line x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\" stroke=\"{3}\" stroke-width=\"1.8\"/>",
                           width - right + 14, width - right + 34, y, grey);
        svg += legend_text(chart.line_name, y);
        y += 20;
    }
    if (!chart.dots_name.empty()) {
        svg += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"3.2\" fill=\"{}\"/>", width - right + 24, y, grey);
        svg += legend_text(chart.dots_name, y);
    }
    return svg;
}

}  // namespace

std::string svg_of(const LineChart& given) {
    const LineChart chart = prepared(given);
    const Axes axes = axes_of(chart);
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "font-family=\"sans-serif\" font-size=\"12\" fill=\"#444\">\n<rect width=\"{0}\" height=\"{1}\" "
        "fill=\"white\"/>\n<clipPath id=\"plot\"><rect x=\"{2}\" y=\"{3}\" width=\"{4}\" height=\"{5}\"/></clipPath>\n",
        width, height, left, top, width - left - right + 4, height - top - bottom);
    svg += fmt::format(
        "<text x=\"{0}\" y=\"26\" font-size=\"15\" fill=\"#111\">{1}</text>\n"
        "<text x=\"{2}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n"
        "<text transform=\"translate(16 {5}) rotate(-90)\" text-anchor=\"middle\">{6}</text>\n",
        left, escaped(chart.title), left + (width - left - right) / 2, height - 8, escaped(chart.x_label),
        top + (height - top - bottom) / 2, escaped(chart.y_label));
    svg += grid_of(chart, axes);
    svg += "<g clip-path=\"url(#plot)\">\n";
    for (std::size_t i = 0; i < chart.lines.size(); ++i)
        svg += drawn(chart.lines[i], axes, colour_of(i), chart.is_logarithmic);
    return svg + "</g>\n" + legend_of(chart) + "</svg>\n";
}

}  // namespace tessera::plots
