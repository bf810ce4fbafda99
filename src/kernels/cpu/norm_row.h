// One row of a norm: where it is, what it is multiplied by, where it goes.
#pragma once

#include <cstdint>

namespace tessera {

template <class T>
struct NormRow {
    const T* x = nullptr;
    const T* residual = nullptr;  // or none
    const T* weight = nullptr;
    const T* bias = nullptr;
    const T* next = nullptr;  // the row of x that will be read after this one
    T* scratch = nullptr;     // holds x + residual
    T* out = nullptr;
    T* sum = nullptr;  // or none
    T mean = 0, rstd = 0;
    T squares = -1;  // Σ x², where the row before took it along; else negative
    T eps = 0;
    std::int64_t width = 0;
    bool stream = false;
};

}  // namespace tessera
