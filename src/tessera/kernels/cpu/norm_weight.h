// A norm's weight or bias as contiguous values in the type we compute in: the caller's memory where it already is that,
// else a copy, shifted by an offset, or a constant where there is none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tessera/core/view.h"
#include "tessera/kernels/cpu/convert.h"
#include "tessera/kernels/cpu/scratch.h"

namespace tessera::kernels::cpu {

template <class Compute>
class RowVector {
   public:
    RowVector(const View& values, std::int64_t width, double when_absent, double offset)
        : copy_(is_usable(values, offset) ? 0 : width), data_(copy_.data()) {
        if (is_usable(values, offset)) {
            data_ = values.as<Compute>();
            return;
        }
        if (!values.defined()) {
            std::fill_n(copy_.data(), width, static_cast<Compute>(when_absent));
            return;
        }
        visit_float(values.dtype, "norm", [&]<class T>(Type<T>) {
            const T* from = values.as<T>();
            for (std::int64_t i = 0; i < width; ++i)
                copy_.data()[i] = convert<T, Compute>(from[i * values.strides[0]]) + static_cast<Compute>(offset);
        });
    }
    RowVector(const RowVector&) = delete;
    RowVector& operator=(const RowVector&) = delete;

    const Compute* data() const { return data_; }

   private:
    static bool is_usable(const View& values, double offset) {
        return values.defined() && values.dtype == dtype_of<Compute> && values.strides[0] == 1 && offset == 0;
    }

    Scratch<Compute> copy_;
    const Compute* data_;
};

}  // namespace tessera::kernels::cpu
