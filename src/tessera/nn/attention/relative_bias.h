// Relative positions as a bias on attention's scores (T5: Raffel et al. 2020). Distances fall into buckets: one for
// each short distance, wider and wider ones up to a longest distance, one for all beyond; each head learns one number
// per bucket.
#pragma once

#include "tessera/nn/embedding.h"

namespace tessera::nn {

struct RelativeBiasSettings {
    std::int64_t heads = 1;
    std::int64_t buckets = 32;
    std::int64_t longest_distance = 128;
    bool bidirectional = true;  // half of the buckets for keys ahead; otherwise those share the bucket of distance 0
};

class RelativeBias : public Module {
   public:
    explicit RelativeBias(const RelativeBiasSettings& settings);

    // The bias (1, H, queries, keys) of the newest `queries` tokens towards all `keys` tokens, on the weight's device.
    Tensor forward(std::int64_t queries, std::int64_t keys) const;
    std::int64_t bucket(std::int64_t distance) const;  // key position − query position
    void visit(const Visitor& visitor) override { table.visit(visitor); }

    Embedding table;  // (buckets, H)

   private:
    RelativeBiasSettings settings_;
};

}  // namespace tessera::nn
