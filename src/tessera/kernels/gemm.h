// Matrix products: C = alpha · A · B + beta · C + bias, for every matrix of a batch.
//
//     a (…, M, K)   b (…, K, N)   bias (N) or undefined   c (…, M, N)
//
// All three carry the same leading dimensions, with strides of 0 where an operand is broadcast. A transpose is a pair
// of swapped strides; nothing is copied for it. a and b share a dtype, or b is 16-bit under an a of f32, which a device
// may then round to b's; c has b's dtype or f32, and bias has c's. The 16-bit formats are summed in float and rounded
// once. With beta = 0 whatever stood in c is not read.
#pragma once

#include <atomic>
#include <cstdint>

#include "tessera/kernels/slot.h"

namespace tessera::kernels {

struct GemmOptions {
    double alpha = 1;
    double beta = 0;
};

inline Slot<void(const View& a, const View& b, const View& bias, const View& c, const GemmOptions& options)> gemm{
    "gemm"};

// Multiplications and additions of all products so far, on every device: what utilisation is measured by.
inline std::atomic<std::int64_t> gemm_operations{0};
inline void count_gemm(const View& a, const View& c) {
    gemm_operations.fetch_add(2 * c.elements() * a.size(-1), std::memory_order_relaxed);
}

}  // namespace tessera::kernels
