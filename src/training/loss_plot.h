// The loss of a run as a picture: every step faint, its moving average, and the validation losses as dots.
#pragma once

#include <filesystem>
#include <string>

#include "training/metrics.h"

namespace tessera::training {

std::string loss_svg(const Metrics& metrics, const std::string& title);
void write_loss_plot(const std::filesystem::path& file, const Metrics& metrics, const std::string& title);

}  // namespace tessera::training
