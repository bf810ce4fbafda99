// Walks N views of one shape together on the device. The host merges dimensions where the strides allow it and finds
// out whether runs can be moved 16 bytes at a time; the kernel turns a number into one offset per view.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "tessera/core/view.h"
#include "tessera/kernels/cuda/stream.h"
#include "tessera/kernels/cuda/values.h"

namespace tessera::kernels::cuda {

// Division by a number known before the launch, as a multiplication (Granlund & Montgomery 1994). For numbers below
// 2^31.
struct Divisor {
    std::uint32_t size = 1, factor = 0, shift = 0;

    Divisor() = default;
    explicit Divisor(std::uint32_t divisor) : size(divisor) {
        while ((std::uint64_t{1} << shift) < divisor) ++shift;
        factor = static_cast<std::uint32_t>(
            ((std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - divisor)) / divisor + 1);
    }
    __device__ std::uint32_t quotient(std::uint32_t number) const {
        return (__umulhi(number, factor) + number) >> shift;
    }
};

// Dimensions of N views, innermost first, with offsets in elements.
template <int N>
struct Dimensions {
    Divisor sizes[max_rank];
    std::int64_t strides[max_rank][N];
    int rank = 0;

    __device__ std::array<std::int64_t, N> offsets(std::uint32_t number) const;

    // Adds the next dimension outwards, as one with the last where the strides allow it.
    void push(std::int64_t size, const std::array<std::int64_t, N>& stride) {
        bool merges = rank > 0;
        for (int n = 0; n < N && merges; ++n)
            merges = stride[static_cast<std::size_t>(n)] == strides[rank - 1][n] * sizes[rank - 1].size;
        if (merges) {
            sizes[rank - 1] = Divisor(static_cast<std::uint32_t>(size * sizes[rank - 1].size));
            return;
        }
        sizes[rank] = Divisor(static_cast<std::uint32_t>(size));
        for (int n = 0; n < N; ++n) strides[rank][n] = stride[static_cast<std::size_t>(n)];
        ++rank;
    }
};

template <int N>
__device__ std::array<std::int64_t, N> Dimensions<N>::offsets(std::uint32_t number) const {
    std::array<std::int64_t, N> offset{};
#pragma unroll
    for (int dim = 0; dim < max_rank; ++dim) {
        if (dim >= rank) break;
        const std::uint32_t outer = sizes[dim].quotient(number);
        const std::uint32_t index = number - outer * sizes[dim].size;
        number = outer;
#pragma unroll
        for (int n = 0; n < N; ++n) offset[n] += index * strides[dim][n];
    }
    return offset;
}

// One piece of the walk, of less than 2^31 elements. A number stands for `pack` elements along the innermost
// dimension, whose stride is 1 or, for a broadcast view, 0.
template <int N>
struct StridedPiece {
    Dimensions<N> dimensions;  // the innermost in units of `pack` elements
    void* data[N];
    bool moves[N];  // whether the innermost stride is not 0; only of interest in packs
    std::uint32_t elements;
    int pack;

    unsigned numbers() const { return ceil_divide(elements, pack); }
    __device__ std::uint32_t elements_at(std::uint32_t number) const {
        return ::min(static_cast<std::uint32_t>(pack), elements - number * pack);
    }
};

// Reads the pack that belongs to view n: `count` of its values where the last pack of a walk is cut short.
template <class T, int size, int N>
__device__ Pack<T, size> load_pack(const StridedPiece<N>& piece, int n, std::int64_t offset, std::uint32_t count) {
    const T* from = static_cast<const T*>(piece.data[n]) + offset;
    if constexpr (size == 1) {
        return {{*from}};
    } else {
        if (piece.moves[n] && count == size) return *reinterpret_cast<const Pack<T, size>*>(from);
        Pack<T, size> pack;
#pragma unroll
        for (int i = 0; i < size; ++i) pack.value[i] = from[piece.moves[n] && i < static_cast<int>(count) ? i : 0];
        return pack;
    }
}

template <class T, int size, int N>
__device__ void store_pack(const StridedPiece<N>& piece, int n, std::int64_t offset, std::uint32_t count,
                           const Pack<T, size>& pack) {
    T* to = static_cast<T*>(piece.data[n]) + offset;
    if (count == size) {
        *reinterpret_cast<Pack<T, size>*>(to) = pack;
        return;
    }
#pragma unroll
    for (int i = 0; i < size; ++i)
        if (i < static_cast<int>(count)) to[i] = pack.value[i];
}

template <int N>
class StridedWalk {
   public:
    // `pack` is how many elements a kernel would like to take at once; it gets as many, or one at a time.
    StridedWalk(const std::array<const View*, N>& views, int pack) : pack_(pack) {
        for (int n = 0; n < N; ++n) {
            check(views[n]->shape == views[0]->shape, "kernel views differ in shape: ", views[0]->shape, " and ",
                  views[n]->shape);
            data_[n] = static_cast<char*>(views[n]->data);
            element_bytes_[n] = info(views[n]->dtype).block_bytes;
        }
        for (int dim = views[0]->rank() - 1; dim >= 0; --dim) add_dimension(views, dim);
    }

    // Calls launch(piece) with pieces in order; there is none where a dimension is 0.
    template <class Launch>
    void pieces(Launch&& launch) const {
        std::int64_t elements = 1;
        int longest = 0;
        for (int dim = 0; dim < rank_; ++dim) {
            elements *= sizes_[dim];
            if (sizes_[dim] > sizes_[longest]) longest = dim;
        }
        if (elements == 0) return;
        if (elements <= most_elements) return launch(piece_of(elements));
        const std::int64_t half = (sizes_[longest] / 2 + pack_ - 1) / pack_ * pack_;
        StridedWalk first = *this, second = *this;
        first.sizes_[longest] = half;
        second.sizes_[longest] -= half;
        for (int n = 0; n < N; ++n) second.data_[n] += half * strides_[longest][n] * element_bytes_[n];
        first.pieces(launch);
        second.pieces(launch);
    }

   private:
    static constexpr std::int64_t most_elements = (std::int64_t{1} << 31) - 64;

    void add_dimension(const std::array<const View*, N>& views, int dim) {
        const std::int64_t size = views[0]->shape[dim];
        if (size == 1) return;
        std::array<std::int64_t, N> strides;
        bool merges = rank_ > 0;
        for (int n = 0; n < N; ++n) {
            strides[n] = views[n]->strides[dim];
            merges = merges && strides[n] == strides_[rank_ - 1][n] * sizes_[rank_ - 1];
        }
        if (merges) {
            sizes_[rank_ - 1] *= size;
            return;
        }
        sizes_[rank_] = size;
        strides_[rank_++] = strides;
    }

    bool packs() const {
        if (rank_ == 0) return false;
        if (rank_ > 1 && sizes_[0] % pack_ != 0) return false;
        for (int n = 0; n < N; ++n) {
            if (strides_[0][n] == 0 && n + 1 < N) continue;  // the last view is the one written to
            if (strides_[0][n] != 1) return false;
            if (reinterpret_cast<std::uintptr_t>(data_[n]) % (pack_ * element_bytes_[n]) != 0) return false;
            for (int dim = 1; dim < rank_; ++dim)
                if (strides_[dim][n] % pack_ != 0) return false;
        }
        return true;
    }

    StridedPiece<N> piece_of(std::int64_t elements) const {
        StridedPiece<N> piece;
        piece.pack = packs() ? pack_ : 1;
        piece.elements = static_cast<std::uint32_t>(elements);
        for (int n = 0; n < N; ++n) {
            piece.data[n] = data_[n];
            piece.moves[n] = rank_ > 0 && strides_[0][n] != 0;
        }
        for (int dim = 0; dim < rank_; ++dim) {
            std::array<std::int64_t, N> strides = strides_[dim];
            if (dim == 0)
                for (std::int64_t& stride : strides) stride *= piece.pack;
            const std::int64_t size = dim == 0 ? (sizes_[0] + piece.pack - 1) / piece.pack : sizes_[dim];
            piece.dimensions.push(size, strides);
        }
        return piece;
    }

    int pack_;
    int rank_ = 0;
    std::array<char*, N> data_;
    std::array<std::int64_t, N> element_bytes_;
    std::array<std::int64_t, max_rank> sizes_;
    std::array<std::array<std::int64_t, N>, max_rank> strides_;
};

}  // namespace tessera::kernels::cuda
