// Looking for an index that is out of range before a kernel follows it.
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/core/view.h"

namespace tessera::kernels::cuda {

// The first value (in row-major order) of `index`, i64 or i32, outside [0, size). It waits for the device; while a
// graph is being captured it cannot and finds nothing, so kernels must leave such an index alone by themselves.
std::optional<std::int64_t> find_outside(const View& index, std::int64_t size, const char* who);

}  // namespace tessera::kernels::cuda
