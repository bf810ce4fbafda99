#include "benchmarks/ladder_drawing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace tessera::benchmarks {
namespace {

constexpr double width = 860, bar_left = 230, bar_right = 800;
constexpr double bar_height = 22, bar_step = 32, head_height = 74, foot_height = 46;

// Decades around all values and the limit.
struct Scale {
    int first, last;

    double x(double rate) const {
        const double fraction = (std::log10(rate) - first) / (last - first);
        return bar_left + std::clamp(fraction, 0.0, 1.0) * (bar_right - bar_left);
    }
};

Scale scale_of(const std::vector<Ladder>& ladders, double limit) {
    double least = limit, most = limit;
    for (const Ladder& ladder : ladders)
        for (const Rung& rung : ladder.rungs) {
            least = std::min(least, rung.rate);
            most = std::max(most, rung.rate);
        }
    return {static_cast<int>(std::floor(std::log10(least / 1.5))), static_cast<int>(std::ceil(std::log10(most)))};
}

std::string capitalised(std::string text) {
    if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return text;
}

std::string rate_text(double rate) { return fmt::format("{:.{}f}", rate, rate < 10 ? 1 : 0); }

std::string style() {
    return "<style>\n"
           "  text { font: 14px system-ui, 'Helvetica Neue', Arial, sans-serif; fill: #1f2933 }\n"
           "  .title { font-size: 18px; font-weight: 600 } .soft { fill: #66727f; font-size: 12.5px }\n"
           "  .bar { fill: #3b7dd8 } .top { fill: #1f4e96 } .value { font-weight: 600 }\n"
           "  .grid { stroke: #e3e8ee } .limit { stroke: #c2410c; stroke-width: 1.6; stroke-dasharray: 5 4 }\n"
           "  .limit-text { fill: #c2410c; font-size: 12.5px }\n"
           "</style>\n";
}

std::string draw_grid(const Scale& scale, double top, double bottom) {
    std::string svg;
    for (int decade = scale.first; decade <= scale.last; ++decade) {
        const double x = scale.x(std::pow(10, decade));
        svg +=
            fmt::format("<line class='grid' x1='{0:.1f}' x2='{0:.1f}' y1='{1:.1f}' y2='{2:.1f}'/>\n", x, top, bottom);
        svg += fmt::format("<text class='soft' x='{:.1f}' y='{:.1f}' text-anchor='middle'>{:g}</text>\n", x,
                           bottom + 18, std::pow(10, decade));
    }
    return svg;
}

std::string draw_bar(const Rung& rung, const Scale& scale, double y, double limit, bool is_top) {
    const double middle = y + bar_height / 2 + 5, end = scale.x(rung.rate);
    // Beside the bar, unless the limit's line would run through the number: then inside.
    const bool inside = end + 46 > scale.x(limit) && end < scale.x(limit) + 8;
    std::string svg =
        fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='end'>{}</text>\n", bar_left - 12, middle, rung.name);
    svg += fmt::format("<rect class='bar{}' x='{:.1f}' y='{:.1f}' width='{:.1f}' height='{:.1f}' rx='3'/>\n",
                       is_top ? " top" : "", bar_left, y, end - bar_left, bar_height);
    svg += fmt::format("<text class='value' x='{:.1f}' y='{:.1f}'{}>{}</text>\n", inside ? end - 8 : end + 8, middle,
                       inside ? " text-anchor='end' style='fill: #fff'" : "", rate_text(rung.rate));
    return svg;
}

double height_of(const Ladder& ladder) {
    return head_height + static_cast<double>(ladder.rungs.size()) * bar_step + foot_height;
}

std::string draw_ladder(const Ladder& ladder, const Scale& scale, double top, double limit,
                        const std::string& limit_name) {
    const double bars = top + head_height, bottom = bars + static_cast<double>(ladder.rungs.size()) * bar_step;
    std::string svg =
        fmt::format("<text class='title' x='24' y='{:.1f}'>{}</text>\n", top + 30, capitalised(ladder.title));
    svg += fmt::format("<text class='soft' x='24' y='{:.1f}'>{}</text>\n", top + 50, ladder.subtitle);
    svg += draw_grid(scale, bars - 6, bottom);
    for (std::size_t i = 0; i < ladder.rungs.size(); ++i)
        svg += draw_bar(ladder.rungs[i], scale, bars + static_cast<double>(i) * bar_step, limit,
                        i + 1 == ladder.rungs.size());
    const double x = scale.x(limit);
    svg += fmt::format("<line class='limit' x1='{0:.1f}' x2='{0:.1f}' y1='{1:.1f}' y2='{2:.1f}'/>\n", x, bars - 10,
                       bottom);
    svg += fmt::format("<text class='limit-text' x='{:.1f}' y='{:.1f}' text-anchor='end'>{} {}</text>\n", x, bars - 16,
                       limit_name, rate_text(limit));
    return svg;
}

}  // namespace

std::string draw(const std::vector<Ladder>& ladders, double limit, const std::string& limit_name) {
    const Scale scale = scale_of(ladders, limit);
    double height = 0;
    std::string body;
    for (const Ladder& ladder : ladders) {
        body += draw_ladder(ladder, scale, height, limit, limit_name);
        height += height_of(ladder);
    }
    return fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}'>\n{2}"
        "<rect width='{0}' height='{1}' rx='8' fill='#fff'/>\n{3}</svg>\n",
        width, height, style(), body);
}

}  // namespace tessera::benchmarks
