// The loss of a training run as a plot: every step faint, its moving average, and the validation losses as dots.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tessera::plots {

struct LossPoint {
    std::int64_t step = 0;
    double loss = 0;
};

struct LossHistory {
    std::vector<LossPoint> training, validation;
};

std::string loss_svg(const LossHistory& history, const std::string& title);
void write_loss_plot(const std::filesystem::path& file, const LossHistory& history, const std::string& title);

}  // namespace tessera::plots
