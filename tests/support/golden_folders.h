// The cases under tests/goldens as parameters of a test.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

#include "support/goldens.h"
#include "tessera/formats/safetensors.h"
#include "tessera/parity/parity.h"

namespace tessera::testing {

// Those that are a model's folder and whose reference holds this tensor.
inline std::vector<std::filesystem::path> model_folders(const std::string& with_tensor = "") {
    std::vector<std::filesystem::path> found;
    for (const auto& folder : parity::cases_in(golden_path("")))
        if (std::filesystem::exists(folder / "config.json") &&
            (with_tensor.empty() ||
             formats::read_safetensors(folder / "expected.safetensors").tensors.contains(with_tensor)))
            found.push_back(folder);
    return found;
}

inline std::string folder_name(const ::testing::TestParamInfo<std::filesystem::path>& info) {
    std::string name = info.param.filename().string();
    for (char& c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return name;
}

}  // namespace tessera::testing
