// A view as evenly spaced rows with their values side by side: as it lies where it already is that, else a copy that
// lives as long as this object. Row kernels need no other strides.
#pragma once

#include <cstdint>

#include "tessera/core/view.h"
#include "tessera/kernels/cuda/workspace.h"
#include "tessera/kernels/memory.h"

namespace tessera::kernels::cuda {

class DenseRows {
   public:
    explicit DenseRows(const View& view)
        : data_(view.data), copy_(view.device, find_stride(view) ? 0 : bytes_of(view.dtype, view.elements())) {
        if (copy_.data() == nullptr) return;
        data_ = copy_.data();
        stride_ = view.row_length();
        kernels::copy.on(view.device)(view,
                                      {data_, view.dtype, view.device, view.shape, contiguous_strides(view.shape)});
    }

    template <class T>
    const T* as() const {
        return static_cast<const T*>(data_);
    }
    std::int64_t stride() const { return stride_; }  // from one row to the next

   private:
    bool find_stride(const View& view) {
        if (!view.defined()) return true;
        stride_ = view.row_length();
        if (view.rank() == 0) return true;
        if (view.row_length() > 1 && view.strides[view.rank() - 1] != 1) return false;
        std::int64_t rows = 1;
        for (int dim = view.rank() - 2; dim >= 0; --dim) {
            if (view.shape[dim] == 1) continue;
            if (rows == 1)
                stride_ = view.strides[dim];
            else if (view.strides[dim] != stride_ * rows)
                return false;
            rows *= view.shape[dim];
        }
        return true;
    }

    void* data_;
    std::int64_t stride_ = 0;
    Workspace<std::byte> copy_;
};

}  // namespace tessera::kernels::cuda
