// Views drawn at random: permuted, sliced with steps, stretched. For what must hold whatever the strides are.
#pragma once

#include <algorithm>

#include "support/op_case.h"
#include "tessera/core/random.h"
#include "tessera/ops/views.h"

namespace tessera::testing {

class Draw {
   public:
    explicit Draw(std::uint64_t seed) : key_{.seed = seed} {}
    // In [0, below).
    std::int64_t operator()(std::int64_t below) {
        return static_cast<std::int64_t>(random_bits(key_, count_++) % static_cast<std::uint64_t>(below));
    }

   private:
    RandomKey key_;
    std::uint64_t count_ = 0;
};

struct RandomViewOptions {
    int max_rank = 5;
    std::int64_t max_size = 7;
    bool stretch = true;  // dimensions of stride 0
    DType dtype = DType::F64;
};

inline Tensor random_view(Draw& draw, const RandomViewOptions& options = {}) {
    const int rank = 1 + static_cast<int>(draw(options.max_rank));
    Shape stored = Shape::of_rank(rank), stretched = stored;
    std::vector<int> order;
    for (int i = 0; i < rank; ++i) {
        stored[i] = draw(4) == 0 ? 1 : 1 + draw(options.max_size);
        order.insert(order.begin() + draw(i + 1), i);
    }
    if (draw(3) == 0) std::sort(order.begin(), order.end());
    const auto seed = static_cast<std::uint64_t>(draw(1 << 30));
    Shape dimensions;
    for (const int dimension : order) dimensions.push_back(dimension);
    Tensor x = ops::permute(random_tensor(stored, seed, 0, 1, options.dtype), dimensions);
    for (int i = 0; i < rank; ++i) {
        if (x.size(i) > 2 && draw(4) == 0) x = ops::slice(x, i, 1, x.size(i), 1 + draw(2));
        stretched[i] = options.stretch && x.size(i) == 1 && draw(2) ? 1 + draw(options.max_size) : x.size(i);
    }
    return ops::expand(x, stretched);
}

// The element at a row-major index, found through the strides one step at a time.
inline double element(const Tensor& x, std::int64_t index) {
    const double* place = x.data<double>();
    for (int i = x.rank() - 1; i >= 0; --i) {
        place += index % x.size(i) * x.stride(i);
        index /= x.size(i);
    }
    return *place;
}

}  // namespace tessera::testing
