// Several runs side by side: what each model costs and what it has reached, read from the folders of the runs.
#pragma once

#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tessera/models/opened_model.h"
#include "tessera/plots/line_chart.h"
#include "tessera/training/recipe/recipe.h"
#include "tessera/training/run/metrics.h"

namespace tessera::evaluation {

// Not a number, or 0 where that cannot be: not known.
struct RunStats {
    static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

    std::string name;
    std::int64_t steps = 0;
    std::int64_t parameters = 0, active_parameters = 0;
    double operations = 0;             // of a forward pass, for one token, without the scores of attention
    training::RecentLoss loss = {};    // of the last steps
    double validation_loss = unknown;  // of the last evaluation
    double bits_per_character = unknown;
    double accuracy = unknown;          // of a classifier, on the validation data
    double units_per_second = unknown;  // tokens, or images: nine of ten steps were not faster
    bool generates = false;
    std::int64_t cache_bytes_per_token = 0;  // while the text is shorter than any window
    std::int64_t cache_bytes = 0;            // after a text of that many tokens:
    std::int64_t context = 0;
    double decoded_per_second = unknown;  // tokens after that text, one at a time; likewise
    std::vector<training::LossPoint> losses = {}, validation = {};
};

struct FinishedRun {
    std::string name;
    std::filesystem::path folder;
    training::Recipe recipe;
    models::OpenedModel opened;
};

// The recipe and the model that a run has left in its folder.
FinishedRun open_run(const std::string& name, const std::filesystem::path& folder, Device device = cpu);

RunStats figures_of(const FinishedRun& run);

// Fills in what decoding costs after `context` tokens. The models take turns, so that whatever slows the machine slows
// all of them. Those that continue no texts are passed over.
void measure_decoding(const std::vector<FinishedRun>& runs, std::vector<RunStats>& figures, std::int64_t context);

// Smoothed losses as lines, validation losses as dots.
plots::LineChart loss_curves(const std::vector<RunStats>& figures, const std::string& title);

}  // namespace tessera::evaluation
