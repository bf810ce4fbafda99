// The dtypes that configurations and commands name: "bfloat16" in config.json, "bf16" on the command line.
#pragma once

#include <string>

#include "tessera/core/dtype.h"
#include "tessera/formats/config.h"

namespace tessera::models {

DType weight_dtype(const std::string& name, const char* who);  // "bf16", "f16", "f32"; throws naming `who`
// The configuration with dtype (and torch_dtype, where it has that) set to this one.
formats::Config with_dtype(const formats::Config& config, DType dtype);

}  // namespace tessera::models
