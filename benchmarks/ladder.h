// The ladder: one computation written again and again, each rung removing what held the one before it back. The lower
// rungs are plain C++ (compiled without the compiler's own SIMD), the upper ones use Highway.
#pragma once

#include <cstdint>

namespace tessera::benchmarks {

// c = a · b; all size × size, row-major; the size is a multiple of 64.
struct SquareMatmul {
    std::int64_t size;
    const float *a, *b;
    float* c;
};
void matmul_naive(const SquareMatmul& m);      // a dot product per element; walks down the columns of b
void matmul_reordered(const SquareMatmul& m);  // the loops in another order: every access runs along a row
void matmul_blocked(const SquareMatmul& m);    // block by block, so that a block of b is used many times from cache
void matmul_simd(const SquareMatmul& m);       // the same blocks, a vector of columns at a time
void matmul_tiled(const SquareMatmul& m);      // a tile of c held in registers, operands packed in the order of use
void matmul_threads(const SquareMatmul& m);    // the same on every core

// Causal attention over heads stored one after another: query, key, value, out are (heads, length, width). The length
// is a multiple of 64.
struct HeadAttention {
    std::int64_t heads, length, width;
    const float *query, *key, *value;
    float* out;
};
void attention_matrix(const HeadAttention& h);   // the whole matrix of scores in memory, as in the paper
void attention_online(const HeadAttention& h);   // row by row with a running softmax: no matrix
void attention_blocked(const HeadAttention& h);  // blocks of queries share blocks of keys while those are in cache
void attention_simd(const HeadAttention& h);     // the blocks as register-tiled products, vector exponentials
void attention_threads(const HeadAttention& h);  // the same on every core

}  // namespace tessera::benchmarks
