// tessera regress: a curve through points by attention pooling (Nadaraya–Watson), and what each query looked at.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/commands.h"
#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/core/error.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/json.h"
#include "tessera/plots/svg.h"
#include "tessera/training/nadaraya_watson.h"

namespace tessera::cli {
namespace {

using ops::PoolingKernel;
using plots::PlotArea;
using plots::Svg;
using training::Points;
using training::PoolingSettings;

constexpr std::size_t query_count = 40;

struct Fit {
    std::string title;
    PoolingSettings settings;
    double error = 0;  // of each point, predicted from the others
};

// One column of the image: the points with the curve through them, and the weights below.
class Image {
   public:
    // Weights are as dark as they would be with a Gaussian kernel of this width.
    Image(const Points& points, bool has_truth, std::size_t columns, double width)
        : points_(points), has_truth_(has_truth), svg_(margin + cell * static_cast<double>(columns), 590) {
        const double low = points.x.front(), high = points.x.back();
        for (std::size_t i = 0; i < query_count; ++i)
            queries_.push_back(low + (high - low) * static_cast<double>(i) / (query_count - 1));
        const auto [least, most] = std::minmax_element(points.y.begin(), points.y.end());
        const double room = std::max(1e-9, (*most - *least) * 0.08), wide = std::max(1e-9, (high - low) * 0.03);
        area_ = {.left = margin,
                 .top = 40,
                 .width = cell - 24,
                 .height = 150,
                 .x_low = low - wide,
                 .x_high = high + wide,
                 .y_low = *least - room,
                 .y_high = *most + room};
        const auto weights = training::pooling_weights(points, queries_, {PoolingKernel::Gaussian, width});
        darkest_ = *std::max_element(weights.begin(), weights.end());
    }

    void add(const Fit& fit) {
        svg_.text(area_.left, 20, fit.title, {.size = 13, .colour = "#111"});
        svg_.text(area_.left, 35, fmt::format("left-out error {:.3f}", fit.error), {.size = 11});
        svg_.frame(area_);
        if (has_truth_) {
            std::vector<double> truth;
            for (const double x : queries_) truth.push_back(training::noiseless(std::max(0.0, x)));
            svg_.polyline(placed(area_, queries_, truth), "#9bbf85", 1.5);
        }
        svg_.dots(placed(area_, points_.x, points_.y), "#d9541e", 1.8);
        svg_.polyline(placed(area_, queries_, training::pooled(points_, queries_, fit.settings)), "#1f6fb2", 2);
        const std::vector<double> weights = training::pooling_weights(points_, queries_, fit.settings);
        const PlotArea below{.left = area_.left, .top = 205, .width = area_.width, .height = area_.width};
        svg_.heat_map(below, weights, points_.x.size(), darkest_);
        svg_.text(below.left, below.bottom() + 15, "key →   query ↓", {.size = 11});
        area_.left += cell;
    }

    void add_learning(const std::vector<training::WidthStep>& path) {
        std::vector<double> steps, errors, widths;
        for (const training::WidthStep& step : path) {
            steps.push_back(static_cast<double>(steps.size()));
            errors.push_back(step.error);
            widths.push_back(step.width);
        }
        draw_curve("left-out error over steps of gradient descent on the width", margin + 20, steps, errors);
        draw_curve("width", margin + 20 + 2.5 * cell, steps, widths);
    }

    std::string finished() const { return svg_.finished(); }

   private:
    static constexpr double margin = 16, cell = 178;

    void draw_curve(const char* title, double left, const std::vector<double>& x, const std::vector<double>& y) {
        const auto [least, most] = std::minmax_element(y.begin(), y.end());
        const double room = std::max(1e-6, (*most - *least) * 0.08);
        const PlotArea area{.left = left + 24,
                            .top = 430,
                            .width = 2 * cell,
                            .height = 120,
                            .x_high = std::max(1.0, x.back()),
                            .y_low = *least - room,
                            .y_high = *most + room};
        svg_.text(area.left, area.top - 10, title, {.size = 13, .colour = "#111"});
        draw_grid(svg_, area);
        svg_.polyline(placed(area, x, y), "#1f6fb2", 2);
    }

    const Points& points_;
    bool has_truth_;
    Svg svg_;
    std::vector<double> queries_;
    PlotArea area_;
    double darkest_ = 1;
};

double checked(const char* option, const std::optional<double>& given, double fallback, double most) {
    const double value = given.value_or(fallback);
    check(value > 0 && value <= most, option, ": expected a number above 0 and up to ", most, ", found ", value);
    return value;
}

std::vector<Fit> fits_of(const Points& points, double width, double learned_width) {
    const double reach = 10 * (points.x.back() - points.x.front()) + 1;  // everything alike
    std::vector<Fit> fits{{"constant", {PoolingKernel::Boxcar, reach}},
                          {"boxcar", {PoolingKernel::Boxcar, width}},
                          {"Epanechnikov", {PoolingKernel::Epanechnikov, width}},
                          {"Gaussian", {PoolingKernel::Gaussian, width}},
                          {"learned", {PoolingKernel::Gaussian, learned_width}}};
    for (Fit& fit : fits) fit.error = training::left_out_error(points, fit.settings);
    return fits;
}

void print(const std::vector<Fit>& fits, bool json) {
    formats::Json list = formats::Json::array();
    if (!json) std::printf("%-14s %10s %16s\n", "kernel", "width", "left-out error");
    for (const Fit& fit : fits) {
        const bool is_constant = &fit == fits.data();
        list.push_back(formats::Json::object()
                           .set("kernel", fit.title)
                           .set("width", is_constant ? formats::Json() : formats::Json(fit.settings.width))
                           .set("left_out_error", fit.error));
        const std::string width = is_constant ? "-" : fmt::format("{:.4f}", fit.settings.width);
        if (!json) std::printf("%-14s %10s %16.4f\n", fit.title.c_str(), width.c_str(), fit.error);
    }
    if (json) std::printf("%s\n", formats::Json::object().set("kernels", std::move(list)).dump().c_str());
}

void write_image(const std::string& path, Image& image, std::vector<Fit> fits,
                 const std::vector<training::WidthStep>& steps) {
    for (Fit& fit : fits) {
        if (&fit != fits.data()) fit.title += fmt::format(", w = {:.2g}", fit.settings.width);
        image.add(fit);
    }
    image.add_learning(steps);
    formats::write_file(path, image.finished());
}

}  // namespace

int regress_command(const std::vector<std::string>& arguments) {
    std::string file, out;
    std::optional<double> width_given, rate_given;
    std::int64_t steps = 100, seed = 0, count = 50;
    bool json = false, overwrite = false;
    Arguments parser("regress",
                     "A curve through points by attention pooling (Nadaraya-Watson): with a constant, a boxcar, an\n"
                     "Epanechnikov and a Gaussian kernel, and a Gaussian one whose width is learned. The image shows\n"
                     "the curves and, below, the weight of each point for each query.",
                     "tessera regress -o regression.svg --width 0.5");
    parser.optional_positional("POINTS", file, "a .tsv file: x, tab, y; without it 2 sin x + x^0.8 with noise");
    parser.option("-o,--output FILE", out, "the image to write, .svg (default: none)");
    parser.option("--width", width_given, "of the kernels, and where learning begins (default: 0.5)");
    parser.option("--steps", steps, "of gradient descent on the width");
    parser.option("--rate", rate_given, "the learning rate (default: 1)");
    parser.option("--points", count, "how many points to make, where no file is given");
    parser.option("--seed", seed, "of the points that are made");
    parser.overwrite(overwrite);
    parser.json(json);
    if (const auto status = parser.parse(arguments)) return *status;
    constexpr std::int64_t most_points = 2000;  // each is compared with each
    const double width = checked("--width", width_given, 0.5, 1e9), rate = checked("--rate", rate_given, 1, 1e6);
    check(steps >= 1 && steps <= 100000, "--steps: expected 1 to 100000, found ", steps);
    check(seed >= 0, "--seed: expected 0 or more, found ", seed);
    check(count >= 3 && count <= most_points, "--points: expected 3 to ", most_points, ", found ", count);
    const Points points =
        file.empty() ? training::noisy_points(count, static_cast<std::uint64_t>(seed)) : training::read_points(file);
    check(points.x.size() >= 3 && points.x.size() <= static_cast<std::size_t>(most_points), file, ": expected 3 to ",
          most_points, " points, found ", points.x.size());

    if (!out.empty()) check_output_file(out, "<svg", {file}, {.overwrite = overwrite});
    const auto path = training::learn_width(points, {PoolingKernel::Gaussian, width}, steps, rate);
    const std::vector<Fit> fits = fits_of(points, width, path.back().width);
    print(fits, json);
    if (out.empty()) return 0;
    Image image(points, file.empty(), fits.size(), width);
    write_image(out, image, fits, path);
    if (!json) std::printf("%s: the curves and their weights\n", one_line(out).c_str());
    return 0;
}

}  // namespace tessera::cli
