#include "tessera/data/permutation.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera::data {
namespace {

TEST(Permutation, EveryPlaceOnceAtEverySize) {
    for (std::int64_t size = 1; size <= 70; ++size) {
        const Permutation permutation(size, {.seed = 7});
        std::set<std::int64_t> seen;
        for (std::int64_t i = 0; i < size; ++i) {
            const std::int64_t at = permutation(i);
            EXPECT_TRUE(at >= 0 && at < size) << size;
            EXPECT_TRUE(seen.insert(at).second) << "size " << size << " has " << at << " twice";
        }
    }
}

TEST(Permutation, MovesMostElementsAndDependsOnTheKey) {
    const std::int64_t size = 10'000;
    const Permutation one(size, {.seed = 1}), two(size, {.seed = 2});
    int fixed = 0, same = 0, neighbours = 0;
    for (std::int64_t i = 0; i < size; ++i) {
        fixed += one(i) == i;
        same += one(i) == two(i);
        neighbours += i > 0 && one(i) == one(i - 1) + 1;
    }
    EXPECT_LT(fixed, 20);  // one is expected
    EXPECT_LT(same, 20);
    EXPECT_LT(neighbours, 20);
}

TEST(Permutation, EpochsAreWholeAndDifferent) {
    const std::int64_t examples = 37;
    std::vector<std::int64_t> first, second;
    for (std::int64_t i = 0; i < examples; ++i) {
        first.push_back(shuffled_example(i, examples, {.seed = 3}));
        second.push_back(shuffled_example(examples + i, examples, {.seed = 3}));
    }
    EXPECT_NE(first, second);
    EXPECT_EQ(std::set<std::int64_t>(first.begin(), first.end()).size(), 37u);
    EXPECT_EQ(std::set<std::int64_t>(second.begin(), second.end()).size(), 37u);
}

}  // namespace
}  // namespace tessera::data
