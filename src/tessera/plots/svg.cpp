#include "tessera/plots/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera::plots {
namespace {

constexpr int shades = 16;

std::string escaped(std::string_view text) {
    std::string out;
    for (const char letter : text) {
        const auto code = static_cast<unsigned char>(letter);
        if (letter == '<')
            out += "&lt;";
        else if (letter == '>')
            out += "&gt;";
        else if (letter == '&')
            out += "&amp;";
        else if (code >= 0x20 && code != 0x7F)
            out += letter;
        else
            out += ' ';  // XML allows no control characters
    }
    return out;
}

// Without a zero that says nothing.
std::string short_number(double value) {
    std::string text = fmt::format("{:.1f}", value);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text == "-0" ? "0" : text;
}

// From white to a dark blue.
std::string shade_colour(int shade) {
    const double share = static_cast<double>(shade) / (shades - 1);
    const auto mix = [&](double dark) { return static_cast<int>(std::lround(255 + (dark - 255) * share)); };
    return fmt::format("#{:02x}{:02x}{:02x}", mix(8), mix(48), mix(107));
}

}  // namespace

double grid_distance(double range) {
    const double raw = std::max(range, 1e-300) / 5, power = std::pow(10, std::floor(std::log10(raw)));
    const double share = raw / power;
    return power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
}

Svg::Svg(double width, double height)
    : body_(
          fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
                      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#444\">\n<rect width=\"{0}\" height=\"{1}\" "
                      "fill=\"white\"/>\n",
                      width, height)) {}

void Svg::text(double x, double y, std::string_view text, const TextStyle& style) {
    body_ += fmt::format("<text x=\"{}\" y=\"{}\"", short_number(x), short_number(y));
    if (style.anchor != Anchor::Start)
        body_ += fmt::format(" text-anchor=\"{}\"", style.anchor == Anchor::Middle ? "middle" : "end");
    if (style.size != 12) body_ += fmt::format(" font-size=\"{}\"", style.size);
    if (std::string_view(style.colour) != "#444") body_ += fmt::format(" fill=\"{}\"", style.colour);
    if (style.turned != 0)
        body_ += fmt::format(" transform=\"rotate({} {} {})\"", style.turned, short_number(x), short_number(y));
    body_ += fmt::format(">{}</text>\n", escaped(text));
}

void Svg::line(PlotPoint from, PlotPoint to, const char* colour, double thickness) {
    body_ += fmt::format("<path d=\"M{} {}L{} {}\" stroke=\"{}\" stroke-width=\"{}\"/>\n", short_number(from.x),
                         short_number(from.y), short_number(to.x), short_number(to.y), colour, thickness);
}

void Svg::polyline(std::span<const PlotPoint> points, const char* colour, double thickness) {
    if (points.empty()) return;
    std::string path;
    for (const PlotPoint& point : points)
        path += fmt::format("{}{},{}", path.empty() ? "" : " ", short_number(point.x), short_number(point.y));
    body_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"/>\n", path, colour,
                         thickness);
}

void Svg::dots(std::span<const PlotPoint> points, const char* colour, double radius) {
    if (points.empty()) return;
    std::string path;
    for (const PlotPoint& point : points) path += fmt::format("M{} {}h0", short_number(point.x), short_number(point.y));
    body_ += fmt::format("<path d=\"{}\" stroke=\"{}\" stroke-width=\"{}\" stroke-linecap=\"round\"/>\n", path, colour,
                         2 * radius);
}

void Svg::frame(const PlotArea& area, const char* colour) {
    body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"{}\"/>\n",
                         short_number(area.left), short_number(area.top), short_number(area.width),
                         short_number(area.height), colour);
}

// One path for each shade, in units of cells; neighbours of one shade are one stroke.
void Svg::heat_map(const PlotArea& area, std::span<const double> values, std::size_t columns, double most) {
    const std::size_t rows = columns > 0 ? values.size() / columns : 0;
    if (rows == 0) return;
    const auto shade_of = [&](std::size_t cell) {
        const double share = most > 0 && values[cell] > 0 ? std::min(1.0, values[cell] / most) : 0;
        return static_cast<int>(std::lround(share * (shades - 1)));
    };
    std::string paths[shades];
    for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t column = 0; column < columns;) {
            const int shade = shade_of(row * columns + column);
            std::size_t end = column + 1;
            while (end < columns && shade_of(row * columns + end) == shade) ++end;
            if (shade > 0) paths[shade] += fmt::format("M{} {}.5h{}", column, row, end - column);
            column = end;
        }
    body_ += fmt::format("<g transform=\"translate({} {}) scale({:.4g} {:.4g})\" shape-rendering=\"crispEdges\">\n",
                         short_number(area.left), short_number(area.top), area.width / static_cast<double>(columns),
                         area.height / static_cast<double>(rows));
    for (int shade = 1; shade < shades; ++shade)
        if (!paths[shade].empty())
            body_ += fmt::format("<path d=\"{}\" stroke=\"{}\"/>\n", paths[shade], shade_colour(shade));
    body_ += "</g>\n";
    frame(area);
}

void draw_grid(Svg& svg, const PlotArea& area) {
    const double across = grid_distance(area.y_high - area.y_low), along = grid_distance(area.x_high - area.x_low);
    const auto number = [](double value, double distance) {
        return fmt::format("{:.6g}", std::abs(value) < distance * 1e-9 ? 0.0 : value);
    };
    for (double i = std::ceil(area.y_low / across); i * across <= area.y_high; ++i) {
        const double y = area.at(area.x_low, i * across).y;
        svg.line({area.left, y}, {area.right(), y}, "#ddd");
        svg.text(area.left - 8, y + 4, number(i * across, across), {.anchor = Anchor::End});
    }
    for (double i = std::ceil(area.x_low / along); i * along <= area.x_high; ++i)
        svg.text(area.at(i * along, area.y_low).x, area.bottom() + 18, number(i * along, along),
                 {.anchor = Anchor::Middle});
}

std::vector<PlotPoint> placed(const PlotArea& area, std::span<const double> x, std::span<const double> y) {
    std::vector<PlotPoint> points;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) points.push_back(area.at(x[i], y[i]));
    return points;
}

}  // namespace tessera::plots
