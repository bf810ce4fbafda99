// The ladders as one SVG: bars on a logarithmic scale, and the machine's limit as a line.
#pragma once

#include <string>
#include <vector>

namespace tessera::benchmarks {

struct Rung {
    std::string name;
    double rate;  // GFLOP/s
};

struct Ladder {
    std::string title, subtitle;
    std::vector<Rung> rungs;
};

std::string draw(const std::vector<Ladder>& ladders, double limit, const std::string& limit_name);

}  // namespace tessera::benchmarks
