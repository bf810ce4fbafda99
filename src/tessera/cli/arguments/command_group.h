// A command that is several: `tessera scenes preview …`, `tessera scenes write …`. Its own page lists them.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tessera::cli {

struct Subcommand {
    const char* name;
    const char* usage;  // its arguments
    const char* summary;
    int (*run)(const std::vector<std::string>& arguments);
};

struct CommandGroup {
    const char* name;
    const char* summary;
    const char* example;
    std::span<const Subcommand> commands;
};

int run_group(const CommandGroup& group, const std::vector<std::string>& arguments);

}  // namespace tessera::cli
