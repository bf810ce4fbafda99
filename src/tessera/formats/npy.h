// NumPy's .npy file, version 1.0: a header in Python's own words, then the values.
#pragma once

#include <filesystem>

#include "tessera/tensor/tensor.h"

namespace tessera::formats {

void write_npy(const std::filesystem::path& path, const Tensor& tensor);  // f32, f64, i64 or i32; whole or not at all

}  // namespace tessera::formats
