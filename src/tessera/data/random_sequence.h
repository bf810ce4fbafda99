// Random numbers one after another from a key of one use: the same key gives the same row of numbers.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/core/random.h"

namespace tessera::data {

class RandomSequence {
   public:
    explicit RandomSequence(RandomKey key) : key_(key) {}

    double uniform() { return tessera::uniform(random_bits(key_, next_++)); }  // in [0, 1)
    std::int64_t below(std::int64_t count) {                                   // in [0, count), count from 1
        const std::uint64_t high = random_bits(key_, next_++), low = random_bits(key_, next_++);
        return static_cast<std::int64_t>((high << 32 | low) % static_cast<std::uint64_t>(count));
    }
    std::int64_t poisson(double mean) {  // Knuth's product of uniform numbers
        const double least = std::exp(-mean);
        std::int64_t count = 0;
        for (double product = uniform(); product > least; product *= uniform()) ++count;
        return count;
    }
    template <class Value>
    void shuffle(std::vector<Value>& values) {  // Fisher and Yates
        for (std::size_t i = values.size(); i > 1; --i)
            std::swap(values[i - 1], values[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
    }

   private:
    RandomKey key_;
    std::uint64_t next_ = 0;
};

}  // namespace tessera::data
