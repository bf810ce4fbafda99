#include "training/loss_plot.h"

#include <algorithm>

#include "formats/atomic_file.h"
#include "formats/svg.h"

namespace tessera::training {
namespace {

using formats::PlotArea;
using formats::PlotPoint;

constexpr double width = 760, height = 380;
constexpr std::size_t most_points = 800;  // more would be narrower than a pixel

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

PlotArea area_of(const std::vector<LossPoint>& points, const std::vector<LossPoint>& more) {
    PlotArea area{.left = 60, .top = 40, .width = width - 80, .height = height - 84};
    double low = 1e300, high = -1e300;
    for (const auto* list : {&points, &more})
        for (const LossPoint& point : *list) {
            low = std::min(low, point.loss);
            high = std::max(high, point.loss);
            area.x_high = std::max(area.x_high, static_cast<double>(point.step));
        }
    if (low > high) return area;
    const double margin = std::max(1e-6, (high - low) * 0.05);
    area.y_low = low - margin;
    area.y_high = high + margin;
    return area;
}

std::vector<PlotPoint> placed(const PlotArea& area, const std::vector<LossPoint>& points) {
    std::vector<PlotPoint> found;
    for (const LossPoint& point : points) found.push_back(area.at(static_cast<double>(point.step), point.loss));
    return found;
}

}  // namespace

std::string loss_svg(const Metrics& metrics, const std::string& title) {
    const std::vector<LossPoint> points = thinned(metrics.losses());
    const PlotArea area = area_of(points, metrics.validation());
    formats::Svg svg(width, height);
    svg.text(area.left, 24, title, {.size = 15, .colour = "#111"});
    svg.text(area.left + area.width / 2, height - 8, "step", {.anchor = formats::Anchor::middle});
    draw_grid(svg, area);
    svg.polyline(placed(area, points), "#9ec5e8");
    svg.polyline(placed(area, smoothed(points)), "#1f6fb2", 2);
    const std::vector<PlotPoint> validation = placed(area, metrics.validation());
    if (points.empty()) svg.polyline(validation, "#f0b8a0", 1);
    svg.dots(validation, "#d9541e", 3.5);
    return svg.finished();
}

void write_loss_plot(const std::filesystem::path& file, const Metrics& metrics, const std::string& title) {
    formats::AtomicFile out(file);
    out.write(loss_svg(metrics, title));
    out.commit();
}

}  // namespace tessera::training
