// A random order of 0 … size − 1 as a pure function: element i of the permutation is computed, not stored, so a run
// that resumes at any step finds the same order. A Feistel network over the next power of four, walked until it falls
// inside (Black and Rogaway 2002).
#pragma once

#include <cstdint>

#include "tessera/core/random.h"

namespace tessera::data {

class Permutation {
   public:
    Permutation(std::int64_t size, RandomKey key) : size_(static_cast<std::uint64_t>(size)), key_(key) {
        while ((std::uint64_t{1} << (2 * half_bits_)) < size_) ++half_bits_;
    }

    std::int64_t operator()(std::int64_t index) const {
        std::uint64_t at = static_cast<std::uint64_t>(index);
        do at = shuffle(at);
        while (at >= size_);
        return static_cast<std::int64_t>(at);
    }

   private:
    std::uint64_t shuffle(std::uint64_t at) const {
        const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
        std::uint64_t left = at >> half_bits_, right = at & mask;
        for (std::uint64_t round = 0; round < 4; ++round) {
            const std::uint64_t mixed = left ^ (random_bits(key_.child(round), right) & mask);
            left = right;
            right = mixed;
        }
        return left << half_bits_ | right;
    }

    std::uint64_t size_;
    RandomKey key_;
    int half_bits_ = 1;
};

// Which example stands at a place of an endless run: epoch after epoch, each in an order of its own.
inline std::int64_t shuffled_example(std::int64_t place, std::int64_t examples, RandomKey key) {
    return Permutation(examples, key.child(static_cast<std::uint64_t>(place / examples)))(place % examples);
}

}  // namespace tessera::data
