// The plot of a run's losses.
#include "tessera/plots/loss_plot.h"

#include <gtest/gtest.h>

namespace tessera::plots {
namespace {

std::string plot_of(const LossHistory& history, const std::string& title = "a <run>") {
    return loss_svg(history, title);
}

TEST(LossPlot, HasLabelsAndALegend) {
    LossHistory history;
    for (std::int64_t step = 1; step <= 9; ++step) history.training.push_back({step, 5.0 - 0.1 * step});
    EXPECT_EQ(plot_of(history).find("validation"), std::string::npos);
    history.validation.push_back({9, 4.5});
    const std::string svg = plot_of(history);
    for (const char* text :
         {">step<", ">loss<", ">training, each step<", ">training, smoothed<", ">validation<", ">a &lt;run&gt;<"})
        EXPECT_NE(svg.find(text), svg.npos) << text;
    EXPECT_NE(plot_of(history, std::string(100, 'x')).find(std::string(36, 'x') + "…<"), svg.npos);
    EXPECT_NE(plot_of(history, std::string(35, 'x') + "ïï").find(std::string(35, 'x') + "…<"), svg.npos);
}

TEST(LossPlot, OfCountsHasTheValidationAlone) {
    const LossHistory history{.training = {}, .validation = {{9, 4.5}}};
    EXPECT_EQ(plot_of(history).find("training"), std::string::npos);
    EXPECT_NE(plot_of(history).find(">validation<"), std::string::npos);
}

}  // namespace
}  // namespace tessera::plots
