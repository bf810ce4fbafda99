#include "tessera/plots/loss_plot.h"

#include <algorithm>

#include "tessera/formats/atomic_file.h"
#include "tessera/plots/svg.h"
#include "tessera/text/utf8.h"

namespace tessera::plots {
namespace {

constexpr double width = 760, height = 380;
constexpr const char *faint = "#9ec5e8", *strong = "#1f6fb2", *warm = "#d9541e";
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

// A moving mean in which the first steps count no more than others.
std::vector<LossPoint> smoothed(std::vector<LossPoint> points) {
    double sum = 0, weight = 0;
    for (LossPoint& point : points) {
        sum = 0.9 * sum + point.loss;
        weight = 0.9 * weight + 1;
        point.loss = sum / weight;
    }
    return points;
}

PlotArea area_of(const std::vector<LossPoint>& points, const std::vector<LossPoint>& more) {
    PlotArea area{.left = 72, .top = 40, .width = width - 92, .height = height - 92};
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

// What stands for what, from the right edge of the image to the left.
void draw_legend(Svg& svg, const PlotArea& area, bool has_training, bool has_validation) {
    struct Entry {
        const char *name, *colour;
        double thickness, width;  // 0: dots
    };
    std::vector<Entry> entries;
    if (has_validation) entries.push_back({"validation", warm, 0, 64});
    if (has_training) entries.push_back({"training, smoothed", strong, 2, 112});
    if (has_training) entries.push_back({"training, each step", faint, 1, 114});
    constexpr double mark = 24, gap = 6, y = 20;
    double right = area.right();
    for (const Entry& entry : entries) {
        const double text = right - entry.width, from = text - gap - mark;
        svg.text(text, y + 4, entry.name);
        if (entry.thickness > 0)
            svg.line({from, y}, {from + mark, y}, entry.colour, entry.thickness);
        else
            svg.dots(std::vector<PlotPoint>{{from + mark / 2, y}}, entry.colour, 3.5);
        right = from - 2 * gap;
    }
}

// Beside the legend there is room for so many letters.
std::string shortened(const std::string& title) {
    constexpr std::size_t most = 36;
    if (title.size() <= most) return title;
    std::size_t end = most;
    while (end > 0 && text::continues_character(title[end])) --end;
    return title.substr(0, end) + "…";
}

}  // namespace

std::string loss_svg(const LossHistory& history, const std::string& title) {
    const std::vector<LossPoint> points = thinned(history.training);
    const PlotArea area = area_of(points, history.validation);
    Svg svg(width, height);
    svg.text(area.left, 24, shortened(title), {.size = 15, .colour = "#111"});
    svg.text(area.left + area.width / 2, height - 10, "step", {.anchor = Anchor::Middle});
    svg.text(18, area.top + area.height / 2, "loss", {.anchor = Anchor::Middle, .turned = -90});
    draw_grid(svg, area);
    svg.polyline(placed(area, points), faint);
    svg.polyline(placed(area, smoothed(points)), strong, 2);
    const std::vector<PlotPoint> validation = placed(area, history.validation);
    if (points.empty()) svg.polyline(validation, "#f0b8a0", 1);
    svg.dots(validation, warm, 3.5);
    draw_legend(svg, area, !points.empty(), !validation.empty());
    return svg.finished();
}

void write_loss_plot(const std::filesystem::path& file, const LossHistory& history, const std::string& title) {
    formats::AtomicFile out(file);
    out.write(loss_svg(history, title));
    out.commit();
}

}  // namespace tessera::plots
