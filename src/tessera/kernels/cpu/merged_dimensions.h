// Dimensions of N views of one shape, merged where the strides of all of them allow it.
#pragma once

#include <array>
#include <cstdint>

#include "tessera/core/shape.h"

namespace tessera::kernels::cpu {

template <int N>
class MergedDimensions {
   public:
    using Strides = std::array<std::int64_t, N>;  // of each view, in elements

    // Adds a dimension inside of those there are.
    void add(std::int64_t size, const Strides& strides) {
        if (size == 1) return;
        if (rank_ == 0 || !merges(size, strides)) return push(size, strides);
        sizes_[rank_ - 1] *= size;
        strides_[rank_ - 1] = strides;
    }
    void push(std::int64_t size, const Strides& strides) {
        sizes_[rank_] = size;
        strides_[rank_++] = strides;
    }

    int rank() const { return rank_; }
    std::int64_t size(int dim) const { return sizes_[dim]; }
    const Strides& strides(int dim) const { return strides_[dim]; }

    // Where the index-th position of the first `dims` dimensions lies in each view, in elements.
    Strides offsets(std::int64_t index, int dims) const {
        Strides offsets{};
        for (int dim = dims - 1; dim >= 0; --dim) {
            const std::int64_t along = index % sizes_[dim];
            index /= sizes_[dim];
            for (int n = 0; n < N; ++n) offsets[n] += along * strides_[dim][n];
        }
        return offsets;
    }

   private:
    bool merges(std::int64_t size, const Strides& strides) const {
        for (int n = 0; n < N; ++n)
            if (strides_[rank_ - 1][n] != strides[n] * size) return false;
        return true;
    }

    std::array<std::int64_t, max_rank> sizes_{};
    std::array<Strides, max_rank> strides_{};
    int rank_ = 0;
};

}  // namespace tessera::kernels::cpu
