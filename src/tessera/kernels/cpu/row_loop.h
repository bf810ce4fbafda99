// Walks N views of one shape together, as few and as long runs as their strides allow, split over the cores. The order
// is that in which the last view, the one written to, lies in memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>

#include "tessera/core/parallel.h"
#include "tessera/core/view.h"
#include "tessera/kernels/cpu/merged_dimensions.h"

namespace tessera::kernels::cpu {

template <int N>
struct Run {
    std::array<std::byte*, N> data;
    std::array<std::int64_t, N> strides;  // in elements
    std::int64_t length;
};

template <int N>
class RowLoop {
   public:
    explicit RowLoop(const std::array<const View*, N>& views) {
        for (int n = 0; n < N; ++n) {
            check(views[n]->shape == views[0]->shape, "kernel views differ in shape: ", views[0]->shape, " and ",
                  views[n]->shape);
            start_[n] = static_cast<std::byte*>(views[n]->data);
            element_bytes_[n] = info(views[n]->dtype).block_bytes;
        }
        std::array<int, max_rank> order;
        const auto order_end = std::next(order.begin(), views[0]->rank());
        std::iota(order.begin(), order_end, 0);
        const Shape& written = views[N - 1]->strides;
        // Stable, by insertion: std::stable_sort would ask the system for a buffer at every call.
        for (auto end = order.begin(); end != order_end; ++end) {
            const auto place =
                std::upper_bound(order.begin(), end, *end, [&](int a, int b) { return written[a] > written[b]; });
            std::rotate(place, end, end + 1);
        }
        std::for_each(order.begin(), order_end, [&](int dim) {
            typename MergedDimensions<N>::Strides strides;
            for (int n = 0; n < N; ++n) strides[n] = views[n]->strides[dim];
            dims_.add(views[0]->shape[dim], strides);
        });
        if (rank() == 0) dims_.push(1, {});
    }

    // Calls body(Run<N>) for pieces of at most `piece` elements.
    template <class Body>
    void parallel(Body&& body, std::int64_t piece = 16384) const {
        const std::int64_t length = size(rank() - 1);
        const std::int64_t pieces = (length + piece - 1) / piece;
        std::int64_t outer = 1;
        for (int dim = 0; dim + 1 < rank(); ++dim) outer *= size(dim);
        const std::int64_t grain = std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, std::min(length, piece)));
        parallel_for(outer * pieces, grain, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) body(run_at(i / pieces, i % pieces * piece, piece));
        });
    }

    // The merged dimensions, outermost first. There is at least one.
    int rank() const { return dims_.rank(); }
    std::int64_t size(int dim) const { return dims_.size(dim); }
    std::int64_t stride(int dim, int n) const { return dims_.strides(dim)[n]; }
    std::byte* start(int n) const { return start_[n]; }

   private:
    Run<N> run_at(std::int64_t row, std::int64_t first, std::int64_t piece) const {
        const int inner = rank() - 1;
        const auto offset = dims_.offsets(row, inner);
        Run<N> run;
        run.strides = dims_.strides(inner);
        for (int n = 0; n < N; ++n) run.data[n] = start_[n] + (offset[n] + first * run.strides[n]) * element_bytes_[n];
        run.length = std::min(piece, size(inner) - first);
        return run;
    }

    std::array<std::byte*, N> start_;
    std::array<std::int64_t, N> element_bytes_;
    MergedDimensions<N> dims_;
};

}  // namespace tessera::kernels::cpu
