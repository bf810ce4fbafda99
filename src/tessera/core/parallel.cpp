#include "tessera/core/parallel.h"

#include <omp.h>

#include <algorithm>
#include <exception>

#include "tessera/core/error.h"

namespace tessera {

int thread_count() { return omp_get_max_threads(); }

void set_thread_count(int threads) {
    check(threads >= 1, "thread count must be at least 1, not ", threads);
    omp_set_num_threads(threads);
}

void parallel_for(std::int64_t count, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> body) {
    if (count <= 0) return;
    const std::int64_t pieces = std::min<std::int64_t>(thread_count(), count / std::max<std::int64_t>(grain, 1));
    if (pieces <= 1 || omp_in_parallel()) return body(0, count);
    std::exception_ptr thrown;
    // Always the whole team, though some of it may have nothing to do: a smaller one would end the threads that it
    // leaves out, and the next would have to start new ones.
#pragma omp parallel
    {
        const std::int64_t thread = omp_get_thread_num(),
                           shares = std::min<std::int64_t>(pieces, omp_get_num_threads());
        try {
            if (thread < shares) body(count * thread / shares, count * (thread + 1) / shares);
        } catch (...) {
#pragma omp critical(tessera_parallel_for)
            thrown = std::current_exception();
        }
    }
    if (thrown) std::rethrow_exception(thrown);
}

}  // namespace tessera
