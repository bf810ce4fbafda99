// The GGUF format, versions 2 and 3, little-endian (github.com/ggml-org/ggml, docs/gguf.md): a header with counts,
// typed metadata by key, one record per tensor, then the data, each tensor at a multiple of general.alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera::formats {

// All widths of integers are one kind here, and so are both of floats.
using GgufValue = std::variant<bool, std::int64_t, double, std::string, std::vector<bool>, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>>;

// A tensor of a type that cannot be read.
struct UnreadableTensor {
    std::string type;                        // "q2_k"
    std::optional<std::int64_t> bytes = {};  // none: its blocks are not known either
    friend bool operator==(const UnreadableTensor&, const UnreadableTensor&) = default;
};

struct Gguf {
    std::string source;  // what errors name: the file
    std::map<std::string, GgufValue> metadata = {};
    std::map<std::string, Tensor> tensors = {};               // dimensions in row-major order: the file's, reversed
    std::map<std::string, UnreadableTensor> unreadable = {};  // by name; above they have a shape alone

    bool has(const std::string& key) const { return metadata.contains(key); }
    // Without a fallback, a missing key is an error; so is always a value of another kind. Every integer is a number.
    std::int64_t integer(const std::string& key) const;
    std::int64_t integer(const std::string& key, std::int64_t fallback) const;
    double number(const std::string& key) const;
    double number(const std::string& key, double fallback) const;
    bool boolean(const std::string& key) const;
    bool boolean(const std::string& key, bool fallback) const;
    const std::string& text(const std::string& key) const;
    std::string text(const std::string& key, const std::string& fallback) const;
    const std::vector<std::int64_t>& integers(const std::string& key) const;
    const std::vector<double>& numbers(const std::string& key) const;
    const std::vector<std::string>& texts(const std::string& key) const;
    const Tensor& tensor(const std::string& name) const;
};

// Maps the file: tensors lie over it, and no page of theirs is read before they are used.
Gguf read_gguf(const std::filesystem::path& path);
// The same over bytes that `owner` keeps; errors name `source`. Data that stand at an address unfit for their dtype are
// copied.
Gguf parse_gguf(std::span<std::byte> file, const std::shared_ptr<const void>& owner, const std::string& source);

}  // namespace tessera::formats
