#include "tessera/core/reserved_memory.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/expect_error.h"
#include "tessera/core/pool_allocator.h"

namespace tessera {
namespace {

TEST(ReservedMemory, TakesAddressesAndNotMemory) {
    constexpr std::size_t bytes = std::size_t{1} << 38;  // more than a machine has
    const std::shared_ptr<void> memory = reserve_memory(bytes);
    auto* first = static_cast<char*>(memory.get());
    std::memset(first, 7, 1 << 20);
    std::memset(first + bytes - (1 << 20), 9, 1 << 20);
    EXPECT_EQ(first[1000], 7);
    EXPECT_EQ(first[bytes / 2], 0);
    EXPECT_EQ(first[bytes - 1], 9);
    EXPECT_NE(reserve_memory(0), nullptr);
    testing::expect_error([] { reserve_memory(std::size_t{1} << 62); }, {"no address space", "4611686018427387904"});
}

TEST(PoolAllocator, HandsOutAgainWhatWasFreed) {
    struct Thing {
        explicit Thing(int given) : value(given) {}
        int value;
        char more[100];
    };
    const auto make = [](int value) { return std::allocate_shared<Thing>(PoolAllocator<Thing>(), value); };
    std::shared_ptr<Thing> first = make(1), second = make(2);
    EXPECT_NE(first.get(), second.get());
#ifndef __SANITIZE_ADDRESS__  // which frees for real
    const Thing* place = first.get();
    first.reset();
    EXPECT_EQ(make(3).get(), place);
#endif
    EXPECT_EQ(second->value, 2);
}

}  // namespace
}  // namespace tessera
