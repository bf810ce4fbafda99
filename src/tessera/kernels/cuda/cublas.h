// cuBLASLt behind one call: result = alpha · op(left) · op(right) + beta · result + bias, column-major.
#pragma once

#include <cstdint>

#include "tessera/core/dtype.h"

namespace tessera::kernels::cuda {

cudaDataType cuda_type(DType dtype);  // f64, f32, bf16 or f16

struct MatrixLayout {
    bool transposed = false;
    std::int64_t rows = 0, columns = 0;  // as stored
    std::int64_t leading = 0;            // elements from one column to the next
    std::int64_t batch_stride = 0;       // 0: the same matrix for the whole batch
    cudaDataType type = CUDA_R_32F;
};

struct MatrixProduct {
    MatrixLayout left, right, result;
    const void* bias = nullptr;  // one value per row of the result, of its type; or null
    double alpha = 1, beta = 0;
    bool double_precision = false;  // compute in f64; f32 otherwise, never in TF32
    std::int64_t batch = 1;
    const void* left_data = nullptr;
    const void* right_data = nullptr;
    void* result_data = nullptr;
};

// Returns false, having done nothing, where cuBLASLt does not add the bias for this product.
bool multiply(const MatrixProduct& product, int device_index);

}  // namespace tessera::kernels::cuda
