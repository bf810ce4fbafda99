// Reference results stored under tests/goldens as .safetensors: an 8-byte little-endian length, a JSON header with
// dtype, shape and byte range per name, then the data. A reader of the tests' own, so that goldens also judge the
// library's.
#pragma once

#include <map>
#include <string>

#include "tessera/tensor/tensor.h"

namespace tessera::testing {

class Golden {
   public:
    // `file` is relative to tests/goldens, e.g. "optimizers/expected.safetensors".
    explicit Golden(const std::string& file);

    const Tensor& operator[](const std::string& name) const;  // throws naming the file and what is missing
    bool contains(const std::string& name) const { return tensors_.contains(name); }
    const std::map<std::string, Tensor>& tensors() const { return tensors_; }
    const std::map<std::string, std::string>& metadata() const { return metadata_; }

   private:
    std::string file_;
    std::map<std::string, Tensor> tensors_;
    std::map<std::string, std::string> metadata_;
};

std::string source_path(const std::string& file);  // of this repository, wherever the tests run
std::string golden_path(const std::string& file);

}  // namespace tessera::testing
