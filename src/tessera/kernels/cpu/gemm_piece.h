// One rectangle of one matrix product, small enough for one core, and who can compute it. Products are cut into pieces
// by shape alone and every piece runs on one thread, so the bits do not depend on how many threads there are. (oneDNN's
// own threading may split the inner dimension by thread count; it is never asked to.)
#pragma once

#include <cstdint>

#include "tessera/core/dtype.h"

namespace tessera::kernels::cpu {

struct GemmShape {
    std::int64_t rows, columns, inner;  // M, N, K
    double work() const {
        return static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(inner);
    }
};

// Element (i, j) stands at i · leading + j, or at j · leading + i where transposed.
struct GemmMatrix {
    const void* data = nullptr;
    std::int64_t leading = 1;
    bool transposed = false;

    std::int64_t offset(std::int64_t row, std::int64_t column) const {
        return transposed ? column * leading + row : row * leading + column;
    }
};

struct GemmPiece {
    GemmShape shape;
    GemmMatrix a, b;
    void* c = nullptr;
    std::int64_t c_leading = 1;  // c is row-major
    const void* bias = nullptr;  // one per column, of c's dtype
    float alpha = 1, beta = 0;
};

void gemm_f32(const GemmPiece& piece);  // a, b and c are f32
// a and b are bf16. c_dtype is bf16 or f32.
void gemm_bf16(const GemmPiece& piece, DType c_dtype);
bool has_gemm_bf16();  // false on processors where oneDNN has no bf16 matrix product

// Any strides, f64: what finite differences are computed with.
struct PlainGemm {
    GemmShape shape;
    const double *a, *b, *bias;
    double* c;
    std::int64_t a_strides[2], b_strides[2], c_strides[2], bias_stride;
    double alpha, beta;
};
void gemm_f64(const PlainGemm& problem);

}  // namespace tessera::kernels::cpu
