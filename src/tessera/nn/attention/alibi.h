// Attention with linear biases (Press et al. 2021): instead of positions in the embeddings, a score falls with the
// distance of its key, faster for some heads than for others.
#pragma once

#include "tessera/nn/attention/full_cache.h"

namespace tessera::nn {

struct AlibiSettings {
    double factor = 1;  // of all biases
    // Each slope and each slope · position rounded to bf16, as a model's reference may do: positions past 256 then
    // share biases.
    bool rounded = false;
};

// The slopes of ALiBi for any number of heads: a geometric sequence from the power of two below, then every other one
// of the sequence twice as fine.
Tensor alibi_slopes(std::int64_t heads);

// factor · round(slope · position) for `count` keys from `first` on in each row, (rows, count, H): adding the same
// number to all scores of a query changes nothing, so no distance is needed. `starts` (rows), where given, is each
// row's position 0.
struct AlibiKeys {
    std::int64_t rows = 1;
    std::int64_t first = 0;
    std::int64_t count = 0;
    Tensor starts = {};
};
Tensor rounded_alibi_biases(const Tensor& slopes, double factor, const AlibiKeys& keys);

// Every key and value since the beginning, and the rounded bias that each key keeps.
class AlibiCache : public FullCache {
   public:
    explicit AlibiCache(std::int64_t capacity) : FullCache(capacity), biases_(capacity) {}

    Tensor append_biases(const Tensor& newest) { return biases_.append(newest); }  // (B, T, H), of all keys so far
    std::int64_t bytes() const override { return FullCache::bytes() + biases_.bytes(); }
    void clear() override {
        FullCache::clear();
        biases_.clear();
    }
    void reorder(std::span<const std::int64_t> rows) override {
        FullCache::reorder(rows);
        biases_.reorder(rows);
    }
    void truncate(std::int64_t tokens) override {
        FullCache::truncate(tokens);
        biases_.truncate(tokens);
    }

   private:
    GrowingBuffer biases_;
};

}  // namespace tessera::nn
