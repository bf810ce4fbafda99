// The machine in words, for the record: no host names, no paths.
#pragma once

#include <string>

namespace tessera::benchmarks {

struct Machine {
    std::string processor;  // as the processor names itself
    int cores = 0;          // that this process may use
    std::string caches;     // "L1d 32 KiB, L2 1 MiB, L3 32 MiB", one core's view
    std::string vectors;    // "AVX-512, bf16"
    bool has_avx512 = false;
};

Machine machine();
std::string slug(const std::string& words);  // "AMD EPYC" → "amd-epyc"

}  // namespace tessera::benchmarks
