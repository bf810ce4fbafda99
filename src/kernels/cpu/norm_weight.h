// A norm's weight or bias as contiguous values in the type we compute in: the caller's memory where it already is that,
// else a copy, shifted by an offset, or a constant where there is none.
#pragma once

#include <cstdint>
#include <vector>

#include "core/view.h"
#include "kernels/cpu/convert.h"

namespace tessera {

template <class Compute>
class RowVector {
   public:
    RowVector(const View& values, std::int64_t width, double when_absent, double offset) {
        if (!values.defined()) {
            copy_.assign(static_cast<std::size_t>(width), static_cast<Compute>(when_absent));
            data_ = copy_.data();
            return;
        }
        const bool usable = values.dtype == dtype_of<Compute> && values.strides[0] == 1 && offset == 0;
        if (usable) {
            data_ = values.as<Compute>();
            return;
        }
        copy_.resize(static_cast<std::size_t>(width));
        visit_float(values.dtype, "norm", [&]<class T>(Type<T>) {
            const T* from = values.as<T>();
            for (std::int64_t i = 0; i < width; ++i)
                copy_[static_cast<std::size_t>(i)] =
                    convert<T, Compute>(from[i * values.strides[0]]) + static_cast<Compute>(offset);
        });
        data_ = copy_.data();
    }
    RowVector(const RowVector&) = delete;
    RowVector& operator=(const RowVector&) = delete;

    const Compute* data() const { return data_; }

   private:
    std::vector<Compute> copy_;
    const Compute* data_;
};

}  // namespace tessera
