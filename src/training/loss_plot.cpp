#include "training/loss_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/atomic_file.h"

namespace tessera::training {
namespace {

constexpr double width = 760, height = 380, left = 60, right = 20, top = 40, bottom = 44;
constexpr std::size_t most_points = 800;  // more would be narrower than a pixel

struct Axes {
    double last_step = 1, low = 0, high = 1;

    double x(double step) const { return left + (width - left - right) * step / last_step; }
    double y(double loss) const { return top + (height - top - bottom) * (high - loss) / (high - low); }
};

// A distance between lines of 1, 2 or 5 times a power of ten that gives about five of them.
double grid_of(double range) {
    const double raw = range / 5, power = std::pow(10, std::floor(std::log10(raw))), share = raw / power;
    return power * (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10);
}

// At most most_points means of neighbours, so that a long run stays a small file.
std::vector<LossPoint> thinned(const std::vector<LossPoint>& points) {
    const std::size_t each = std::max<std::size_t>(1, (points.size() + most_points - 1) / most_points);
    std::vector<LossPoint> thin;
    for (std::size_t i = 0; i < points.size(); i += each) {
        const std::size_t end = std::min(points.size(), i + each);
        double sum = 0;
        for (std::size_t k = i; k < end; ++k) sum += points[k].loss;
        thin.push_back({points[end - 1].step, sum / static_cast<double>(end - i)});
    }
    return thin;
}

std::vector<LossPoint> smoothed(std::vector<LossPoint> points) {
    for (std::size_t i = 1; i < points.size(); ++i) points[i].loss = 0.9 * points[i - 1].loss + 0.1 * points[i].loss;
    return points;
}

Axes axes_of(const std::vector<LossPoint>& points, const std::vector<LossPoint>& more) {
    Axes axes;
    double low = 1e300, high = -1e300;
    for (const auto* list : {&points, &more})
        for (const LossPoint& point : *list) {
            low = std::min(low, point.loss);
            high = std::max(high, point.loss);
            axes.last_step = std::max(axes.last_step, static_cast<double>(point.step));
        }
    if (low > high) return axes;
    const double margin = std::max(1e-6, (high - low) * 0.05);
    axes.low = low - margin;
    axes.high = high + margin;
    return axes;
}

std::string line_of(const std::vector<LossPoint>& points, const Axes& axes, const char* style) {
    std::string path;
    for (const LossPoint& point : points)
        path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", axes.x(static_cast<double>(point.step)),
                            axes.y(point.loss));
    return fmt::format("<polyline points=\"{}\" fill=\"none\" {}/>\n", path, style);
}

std::string grid(const Axes& axes) {
    std::string lines;
    const double loss_step = grid_of(axes.high - axes.low), step_step = std::max(1.0, grid_of(axes.last_step));
    for (double loss = std::ceil(axes.low / loss_step) * loss_step; loss <= axes.high; loss += loss_step)
        lines += fmt::format(
            "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>"
            "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.4g}</text>\n",
            left, width - right, axes.y(loss), left - 8, axes.y(loss) + 4, std::abs(loss) < 1e-12 ? 0.0 : loss);
    for (double step = 0; step <= axes.last_step; step += step_step)
        lines += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.6g}</text>\n", axes.x(step),
                             height - bottom + 18, step);
    return lines;
}

std::string escaped(const std::string& text) {
    std::string out;
    for (const char letter : text)
        if (letter == '<')
            out += "&lt;";
        else if (letter == '&')
            out += "&amp;";
        else
            out += letter;
    return out;
}

}  // namespace

std::string loss_svg(const Metrics& metrics, const std::string& title) {
    const std::vector<LossPoint> points = thinned(metrics.losses());
    const Axes axes = axes_of(points, metrics.validation());
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "font-family=\"sans-serif\" font-size=\"12\" fill=\"#444\">\n<rect width=\"{0}\" height=\"{1}\" "
        "fill=\"white\"/>\n"
        "<text x=\"{2}\" y=\"24\" font-size=\"15\" fill=\"#111\">{3}</text>\n"
        "<text x=\"{4}\" y=\"{5}\" text-anchor=\"middle\">step</text>\n",
        width, height, left, escaped(title), left + (width - left - right) / 2, height - 8);
    svg += grid(axes);
    svg += line_of(points, axes, "stroke=\"#9ec5e8\" stroke-width=\"1\"");
    svg += line_of(smoothed(points), axes, "stroke=\"#1f6fb2\" stroke-width=\"2\"");
    for (const LossPoint& point : metrics.validation())
        svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"#d9541e\"/>\n",
                           axes.x(static_cast<double>(point.step)), axes.y(point.loss));
    return svg + "</svg>\n";
}

void write_loss_plot(const std::filesystem::path& file, const Metrics& metrics, const std::string& title) {
    formats::AtomicFile out(file);
    out.write(loss_svg(metrics, title));
    out.commit();
}

}  // namespace tessera::training
