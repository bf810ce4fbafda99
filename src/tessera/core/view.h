// A tensor as a kernel sees it: pointer, shape, strides, dtype, device. Light enough for every .cu file.
#pragma once

#include <cstdint>

#include "tessera/core/device.h"
#include "tessera/core/dtype.h"
#include "tessera/core/shape.h"

namespace tessera {

struct View {
    void* data = nullptr;
    DType dtype = DType::F32;
    Device device = cpu;
    Shape shape;
    Shape strides;  // in elements; 0 along a broadcast dimension

    template <class T>
    T* as() const {
        return static_cast<T*>(data);
    }
    bool defined() const { return data != nullptr; }
    int rank() const { return shape.rank(); }
    std::int64_t size(int dim) const { return shape.at(dim); }
    std::int64_t stride(int dim) const { return strides.at(dim); }
    std::int64_t elements() const { return shape.elements(); }
    bool is_contiguous() const {
        std::int64_t expected = 1;
        for (int i = rank() - 1; i >= 0; --i) {
            if (shape[i] != 1 && strides[i] != expected) return false;
            expected *= shape[i];
        }
        return true;
    }
    // Rows are the last dimension; every other one is an outer dimension.
    std::int64_t row_length() const { return rank() ? shape[rank() - 1] : 1; }
    std::int64_t rows() const { return row_length() ? elements() / row_length() : 0; }
};

}  // namespace tessera
