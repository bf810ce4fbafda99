// Adapters in a few numbers, from the headers of their folder.
#pragma once

#include <cstdint>
#include <filesystem>

namespace tessera::models {

struct AdapterSummary {
    std::int64_t layers = 0;      // that have one
    std::int64_t parameters = 0;  // of all tensors in the folder, a head's too
    std::int64_t least_rank = 0, most_rank = 0;
};

AdapterSummary summarise_adapters(const std::filesystem::path& folder);

}  // namespace tessera::models
