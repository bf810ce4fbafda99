// parallel_for on one thread, in place of core/parallel.cpp: no OpenMP of another compiler, and failures that repeat.
#include "tessera/core/parallel.h"

namespace tessera {

int thread_count() { return 1; }
void set_thread_count(int) {}

void parallel_for(std::int64_t count, std::int64_t, FunctionRef<void(std::int64_t, std::int64_t)> body) {
    if (count > 0) body(0, count);
}

}  // namespace tessera
