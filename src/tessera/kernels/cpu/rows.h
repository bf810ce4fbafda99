// The rows of a view (its last dimension) by number, whatever its strides, and what row kernels share besides.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "tessera/core/view.h"
#include "tessera/kernels/cpu/merged_dimensions.h"

namespace tessera::kernels::cpu {

// Where the i-th of the outer positions begins, in elements. Outer dimensions are merged where the strides allow, so
// that the usual contiguous view costs one multiplication.
class Starts {
   public:
    Starts(const View& view, int outer_dims) {
        for (int dim = 0; dim < outer_dims; ++dim) dims_.add(view.shape[dim], {view.strides[dim]});
    }

    std::int64_t operator[](std::int64_t index) const {
        return dims_.rank() == 1 ? index * step() : dims_.offsets(index, dims_.rank())[0];
    }

    // Whether all lie `step` elements apart.
    bool is_even() const { return dims_.rank() <= 1; }
    std::int64_t step() const { return dims_.rank() == 1 ? dims_.strides(0)[0] : 0; }

   private:
    MergedDimensions<1> dims_;
};

template <class T>
class Rows {
   public:
    explicit Rows(const View& view)
        : data_(view.as<T>()),
          starts_(view, std::max(0, view.rank() - 1)),
          stride_(view.rank() ? view.strides[view.rank() - 1] : 1) {}

    T* operator[](std::int64_t row) const { return data_ + starts_[row]; }
    std::int64_t stride() const { return stride_; }  // between the elements of a row
    // Whether all rows begin `step` elements apart.
    bool is_even() const { return starts_.is_even(); }
    std::int64_t step() const { return starts_.step(); }

   private:
    T* data_;
    Starts starts_;
    std::int64_t stride_;
};

// One value per row: a view without the row dimension.
template <class T>
class RowValues {
   public:
    explicit RowValues(const View& view) : data_(view.as<T>()), starts_(view, view.rank()) {}

    T& operator[](std::int64_t row) const { return data_[starts_[row]]; }
    bool is_dense() const { return starts_.is_even() && (starts_.step() == 1 || starts_.step() == 0); }

   private:
    T* data_;
    Starts starts_;
};

// How many rows make a piece worth giving to another thread.
inline std::int64_t rows_per_piece(std::int64_t row_length) {
    return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, row_length));
}

// How many rows ahead of the one that is computed to fetch: the next one, or, where results are streamed, the one about
// a page further on. None (0) where rows are so long that two do not fit the second cache.
inline std::int64_t rows_to_fetch(std::int64_t row_bytes, bool stream) {
    if (row_bytes > 262144) return 0;
    return stream ? std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, row_bytes)) : 1;
}

// Buffers of `length` values each for the calling thread, kept from call to call. A kernel asks for all it needs at
// once: the next call on the same thread hands out the same memory. Buffers lie an odd number of cache lines apart: the
// processor takes a load for a store 4096 bytes away in flight, which costs a third of softmax's speed.
template <int count, class T>
std::array<T*, count> thread_buffers(std::int64_t length) {
    constexpr std::int64_t line = 64 / sizeof(T);
    thread_local std::vector<T> memory;
    const std::int64_t padded = (length + line - 1) / line * line + 21 * line;
    const auto wanted = static_cast<std::size_t>(count * padded + line);
    if (memory.size() < wanted) memory.resize(wanted);
    const auto past_line = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(memory.data()) % 64 / sizeof(T));
    T* next = memory.data() + (line - past_line) % line;
    std::array<T*, count> buffers;
    for (T*& buffer : buffers) {
        buffer = next;
        next += padded;
    }
    return buffers;
}

}  // namespace tessera::kernels::cpu
