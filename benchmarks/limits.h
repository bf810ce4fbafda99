// Limits of this machine, measured once a process: the lines that other figures are held against.
#pragma once

#include <string>

#include "benchmarks/support.h"

namespace tessera::benchmarks {

struct Limits {
    double gemm_flops = 0;  // f32, the fastest library on 2048³
    std::string gemm_library;
    double bf16_flops = 0;
    double copy_bytes = 0;  // a second, read and written, 256 MiB to 256 MiB, the fastest way
    std::string copy_name;
    double read_bytes = 0;  // a second, read only
};

const Limits& limits();

// The same product as a side of a race, for ratios to the limit that hold on a busy machine.
struct Yardstick {
    Side side;
    double operations;
};
const Yardstick& gemm_yardstick();

}  // namespace tessera::benchmarks
