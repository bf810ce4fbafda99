// The 16-bit copy that an optimizer keeps beside f32 values.
#pragma once

#include "tessera/core/view.h"
#include "tessera/kernels/cuda/values.h"

namespace tessera::kernels::cuda {

struct Rounded {
    void* data = nullptr;  // null: there is none
    bool brain = false;    // bf16, not f16

    Rounded() = default;
    explicit Rounded(const View& view) : data(view.data), brain(view.dtype == DType::BF16) {}

    template <class T>
    __device__ void store(std::int64_t i, T value) const {
        if (data == nullptr) return;
        if (brain)
            static_cast<BFloat16*>(data)[i] = convert_to<BFloat16>(value);
        else
            static_cast<Float16*>(data)[i] = convert_to<Float16>(value);
    }
};

// Calls body(Type<float>{}) or body(Type<double>{}) for the dtype of an optimizer's state.
template <class Body>
void visit_state(const char* who, DType dtype, const Body& body) {
    check(dtype == DType::F32 || dtype == DType::F64, who, ": state must be f32 or f64, not ", dtype);
    if (dtype == DType::F32)
        body(Type<float>{});
    else
        body(Type<double>{});
}

}  // namespace tessera::kernels::cuda
