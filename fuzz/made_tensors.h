// Tensors of the fuzzer's choice: of a few shapes that fit one another, and of some that fit nothing.
#pragma once

#include "taken_bytes.h"
#include "tessera/formats/safetensors.h"

inline tessera::Tensor made_tensor(TakenBytes& in) {
    using tessera::DType;
    constexpr std::int64_t sizes[] = {4, 8, 2, 1, 0, 3, 16, 5};
    constexpr DType dtypes[] = {DType::F32, DType::F32, DType::I64, DType::BF16, DType::F64, DType::U8, DType::Bool};
    tessera::Shape shape;
    const int rank = in.byte() % 5;
    for (int dim = 0; dim < rank; ++dim) shape.push_back(in.one_of(sizes));
    const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
    if (is_empty && rank > 1 && in.byte() % 2 == 0) shape[shape[0] == 0 ? 1 : 0] = std::int64_t{1} << 40;
    return tessera::Tensor::zeros(shape, in.one_of(dtypes));
}
