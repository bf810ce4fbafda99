#include "tessera/models/residual_dtype.h"

#include "tessera/ops/cast.h"

namespace tessera::models {

Tensor to_residual_dtype(const Tensor& embedded) {
    const bool is_narrow = embedded.dtype() == DType::BF16 || embedded.dtype() == DType::F16;
    return is_narrow ? ops::cast(embedded, DType::F32) : embedded;
}

}  // namespace tessera::models
