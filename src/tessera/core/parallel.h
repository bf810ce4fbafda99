// One way to use the cores. Work is cut the same way at every thread count, so results carry the same bits.
#pragma once

#include <cstdint>

#include "tessera/core/function_ref.h"

namespace tessera {

int thread_count();
void set_thread_count(int threads);  // at least 1; threads beyond the machine's cores only slow it down

// Calls body(begin, end) over [0, count) in contiguous pieces of at least `grain`. Which piece runs on which thread is
// free, and how many pieces there are depends on the thread count: a body must treat each index on its own.
// Runs on the calling thread alone when called from inside a body. An exception in a body reaches the caller.
void parallel_for(std::int64_t count, std::int64_t grain, FunctionRef<void(std::int64_t begin, std::int64_t end)> body);

}  // namespace tessera
