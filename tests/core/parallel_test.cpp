#include "tessera/core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "support/expect_error.h"

namespace tessera {
namespace {

class ParallelFor : public ::testing::TestWithParam<int> {
   protected:
    void SetUp() override { set_thread_count(GetParam()); }
    void TearDown() override { set_thread_count(before_); }

   private:
    int before_ = thread_count();
};

TEST_P(ParallelFor, CoversEachIndexOnce) {
    for (const std::int64_t count : {0, 1, 2, 3, 7, 100, 4097}) {
        for (const std::int64_t grain : {0, 1, 2, 64, 10000}) {
            std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
            parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
                EXPECT_LE(begin, end);
                EXPECT_TRUE(end - begin >= grain || end - begin == count) << begin << " to " << end;
                for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
            });
            for (const auto& times : seen) ASSERT_EQ(times, 1) << count << " in pieces of " << grain;
        }
    }
}

TEST_P(ParallelFor, NothingToDoCallsNothing) {
    parallel_for(0, 1, [](std::int64_t, std::int64_t) { FAIL(); });
    parallel_for(-3, 1, [](std::int64_t, std::int64_t) { FAIL(); });
}

TEST_P(ParallelFor, AnExceptionReachesTheCaller) {
    for (const std::int64_t bad : {0, 57, 99})
        testing::expect_error(
            [&] {
                parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) {
                    check(!(begin <= bad && bad < end), "index ", bad, " is bad");
                });
            },
            {text_of("index ", bad)});
    std::atomic<int> total = 0;  // and it still works afterwards
    parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) { total += static_cast<int>(end - begin); });
    EXPECT_EQ(total, 100);
}

// Work that keeps only some of the threads busy does not cost the others their lives.
TEST_P(ParallelFor, LargeAndSmallCallsShareTheSameThreads) {
    std::mutex mutex;
    std::set<std::thread::id> seen;
    for (int call = 0; call < 50; ++call)
        parallel_for(call % 2 == 0 ? 64 : 2, 1, [&](std::int64_t, std::int64_t) {
            const std::lock_guard lock(mutex);
            seen.insert(std::this_thread::get_id());
        });
    EXPECT_LE(seen.size(), static_cast<std::size_t>(thread_count()));
}

TEST_P(ParallelFor, InsideABodyItRunsOnThatThreadAlone) {
    std::atomic<int> inner_calls = 0, outer_calls = 0;
    parallel_for(8, 1, [&](std::int64_t begin, std::int64_t end) {
        ++outer_calls;
        const auto here = std::this_thread::get_id();
        for (std::int64_t i = begin; i < end; ++i)
            parallel_for(1000, 1, [&](std::int64_t first, std::int64_t last) {
                ++inner_calls;
                // A single outer piece runs outside any parallel region, and the inner loop may then use the cores.
                if (GetParam() > 1) {
                    EXPECT_EQ(std::this_thread::get_id(), here);
                    EXPECT_EQ(last - first, 1000);
                }
            });
    });
    EXPECT_EQ(inner_calls, 8);
    EXPECT_EQ(outer_calls, std::min(GetParam(), 8));
}

INSTANTIATE_TEST_SUITE_P(Threads, ParallelFor, ::testing::Values(1, 2, 3));

TEST(Threads, CountMustBePositive) {
    testing::expect_error([] { set_thread_count(0); }, {"thread count", "0"});
}

}  // namespace
}  // namespace tessera
