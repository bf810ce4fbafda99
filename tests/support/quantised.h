// Tensors of quantised dtypes, and what they decode to.
#pragma once

#include "support/op_case.h"

namespace tessera::testing {

inline constexpr DType quantised_dtypes[] = {DType::Q8_0, DType::Q4_0, DType::Q4_1, DType::Q5_0,
                                             DType::Q5_1, DType::Q4_K, DType::Q5_K, DType::Q6_K};

inline Tensor random_quantised(const Shape& shape, std::uint64_t seed, DType dtype) {
    return random_tensor(shape, seed, -1, 1, DType::F32).to(dtype);
}

// By the codec alone, without the kernels under test.
inline Tensor decoded(const Tensor& quantised) {
    const Tensor out = Tensor::empty(quantised.shape());
    const DTypeInfo& facts = info(quantised.dtype());
    facts.codec->decode(quantised.view().data, out.data<float>(), quantised.elements() / facts.block_elements);
    return out;
}

}  // namespace tessera::testing
