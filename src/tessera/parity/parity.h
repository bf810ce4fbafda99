// Parity: what we compute beside what a reference computed, quantity by quantity. A case is a folder with
// expected.safetensors (inputs and results) and, where it is about a model, the model's own folder layout. README.md
// lists the names; tools/reference.py makes such folders.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tessera/core/device.h"
#include "tessera/formats/safetensors.h"

namespace tessera::parity {

constexpr double forward_tolerance = 1e-4;  // ‖a − b‖ / ‖b‖ in float32: more than this is no rounding
constexpr double gradient_tolerance = 1e-3;

struct Quantity {
    std::string name;
    double error = 0;  // relative; for tokens, how many differ
    double tolerance = 0;
    std::string note = {};

    bool passed() const { return error <= tolerance; }  // not with NaN
};

struct Outcome {
    std::filesystem::path folder = {};
    std::string kind = {};  // "model", "optimizer steps", …
    std::vector<Quantity> quantities = {};
    std::string failure = {};  // why the case could not be run at all
    double seconds = 0;

    bool passed() const;
};

// Runs one case; what goes wrong inside is told in the outcome's failure.
Outcome check_case(const std::filesystem::path& folder, Device device);
// The folder itself if it is a case, else every case right below it, by name.
std::vector<std::filesystem::path> cases_in(const std::filesystem::path& folder);

}  // namespace tessera::parity
