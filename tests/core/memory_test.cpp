#include "tessera/core/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "support/expect_error.h"

namespace tessera {
namespace {

// Under the address sanitizer blocks are really freed, so that it sees a use after free.
#ifdef __SANITIZE_ADDRESS__
constexpr bool keeps_blocks = false;
#else
constexpr bool keeps_blocks = true;
#endif

TEST(Memory, BlocksAreAlignedAndWritable) {
    for (const std::size_t bytes :
         {0ul, 1ul, 63ul, 64ul, 511ul, 513ul, 4097ul, 1ul << 20, (2ul << 20) + 1, 9ul << 20}) {
        void* data = allocate(cpu, bytes);
        ASSERT_NE(data, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % memory_alignment, 0u) << bytes;
        std::memset(data, 0x5a, bytes);
        release(cpu, data, bytes);
    }
}

TEST(Memory, FreedBlocksAreHandedOutAgain) {
    if (!keeps_blocks) GTEST_SKIP() << "blocks are freed under the address sanitizer";
    release_cached(cpu);
    void* first = allocate(cpu, 100'000);
    release(cpu, first, 100'000);
    const MemoryStats before = memory_stats(cpu);
    EXPECT_GE(before.bytes_cached, 100'000);
    void* second = allocate(cpu, 99'000);  // of the same size class
    EXPECT_EQ(second, first);
    EXPECT_EQ(memory_stats(cpu).system_allocations, before.system_allocations);
    release(cpu, second, 99'000);
    release_cached(cpu);
    EXPECT_EQ(memory_stats(cpu).bytes_cached, 0);
}

TEST(Memory, CountsWhatIsInUse) {
    const MemoryStats before = memory_stats(cpu);
    reset_peak(cpu);
    void* a = allocate(cpu, 1 << 20);
    void* b = allocate(cpu, 3000);
    const MemoryStats during = memory_stats(cpu);
    EXPECT_EQ(during.blocks_in_use, before.blocks_in_use + 2);
    EXPECT_GE(during.bytes_in_use, before.bytes_in_use + (1 << 20) + 3000);
    EXPECT_LE(during.bytes_in_use, before.bytes_in_use + ((1 << 20) + 3000) * 9 / 8 + 128);
    release(cpu, a, 1 << 20);
    release(cpu, b, 3000);
    const MemoryStats after = memory_stats(cpu);
    EXPECT_EQ(after.bytes_in_use, before.bytes_in_use);
    EXPECT_EQ(after.blocks_in_use, before.blocks_in_use);
    EXPECT_EQ(after.peak_bytes, during.bytes_in_use);
    reset_peak(cpu);
    EXPECT_EQ(memory_stats(cpu).peak_bytes, after.bytes_in_use);
}

TEST(Memory, AbsurdSizesAreAnErrorWithTheSize) {
    if (!keeps_blocks) GTEST_SKIP() << "the address sanitizer ends the program where malloc would return null";
    const MemoryStats before = memory_stats(cpu);
    testing::expect_error([] { allocate(cpu, std::size_t{1} << 60); }, {"out of memory", "cpu", "1152921504606846976"});
    EXPECT_EQ(memory_stats(cpu).bytes_in_use, before.bytes_in_use);
    EXPECT_EQ(memory_stats(cpu).blocks_in_use, before.blocks_in_use);
}

TEST(Memory, ThreadsShareOneAllocator) {
    const MemoryStats before = memory_stats(cpu);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([t] {
            for (int i = 0; i < 500; ++i) {
                const auto bytes = static_cast<std::size_t>(100 + 977 * ((i + t) % 13));
                auto* data = static_cast<unsigned char*>(allocate(cpu, bytes));
                std::memset(data, t, bytes);
                EXPECT_EQ(data[bytes - 1], t);
                release(cpu, data, bytes);
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(memory_stats(cpu).bytes_in_use, before.bytes_in_use);
}

}  // namespace
}  // namespace tessera
