#include "tessera/core/random.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

struct KnownAnswer {
    std::uint32_t counter[4], key[2], result[4];
};

// Philox4x32-10, the known-answer vectors published with Random123.
constexpr KnownAnswer known_answers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

std::uint64_t joined(std::uint32_t low, std::uint32_t high) { return std::uint64_t{high} << 32 | low; }

// The counter's low half is the block number and its high half the stream; the key is the seed.
TEST(Philox, KnownAnswers) {
    for (const KnownAnswer& known : known_answers) {
        const RandomKey key{joined(known.key[0], known.key[1]), joined(known.counter[2], known.counter[3])};
        const RandomBlock block = philox(key, joined(known.counter[0], known.counter[1]));
        for (int i = 0; i < 4; ++i) EXPECT_EQ(block.word[i], known.result[i]) << i;
    }
}

TEST(Philox, RunsAtCompileTime) {
    static_assert(philox({0, 0}, 0).word[0] == 0x6627e8d5);
    static_assert(random_bits({0, 0}, 3) == 0x9b00dbd8);
}

TEST(Philox, BitsAreTheWordsOfTheBlocksInOrder) {
    const RandomKey key{12, 34};
    for (std::uint64_t i = 0; i < 20; ++i) EXPECT_EQ(random_bits(key, i), philox(key, i / 4).word[i % 4]);
}

TEST(RandomKey, ChildrenDiffer) {
    std::set<std::uint64_t> streams;
    const RandomKey root{5, 0};
    for (std::uint64_t i = 0; i < 100; ++i) {
        EXPECT_EQ(root.child(i).seed, 5u);
        EXPECT_TRUE(streams.insert(root.child(i).stream).second);
        for (std::uint64_t j = 0; j < 100; ++j) EXPECT_TRUE(streams.insert(root.child(i).child(j).stream).second);
    }
}

TEST(Uniform, CoversTheHalfOpenUnitInterval) {
    EXPECT_EQ(uniform(0), 0.0f);
    EXPECT_EQ(uniform(0xffffffffu), 1.0f - 0x1p-24f);
    EXPECT_EQ(uniform(0x80000000u), 0.5f);
}

}  // namespace
}  // namespace tessera
