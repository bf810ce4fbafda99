// Writes GGUF files, well-formed by default; every count, type and offset can be made to lie.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "tessera/formats/gguf.h"

namespace tessera::testing {

using Bytes = std::vector<std::byte>;

template <class T>
void append(Bytes& bytes, T value) {
    const auto* begin = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), begin, begin + sizeof value);
}

inline void append_string(Bytes& bytes, const std::string& text) {
    append<std::uint64_t>(bytes, text.size());
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    bytes.insert(bytes.end(), begin, begin + text.size());
}

struct GgufRecord {
    std::string name;
    std::vector<std::uint64_t> dimensions;  // in the file's order: the last of ours first
    std::uint32_t type = 0;
    Bytes data = {};
    std::optional<std::uint64_t> offset = {};  // where it lies
};

class GgufBuilder {
   public:
    std::uint32_t version = 3;
    std::optional<std::uint64_t> tensor_count = {}, metadata_count = {};
    std::uint64_t alignment = 32;  // of the data; say it in the metadata too when it is not 32
    std::vector<GgufRecord> records = {};

    template <class T>
    GgufBuilder& set(const std::string& key, const T& value) {
        start_pair(key, type_of<T>());
        append_value(value);
        return *this;
    }
    GgufBuilder& set(const std::string& key, const char* value) { return set(key, std::string(value)); }
    template <class T>
    GgufBuilder& set_array(const std::string& key, const std::vector<T>& values) {
        start_array(key, type_of<T>(), values.size());
        for (const auto& value : values) append_value<T>(value);
        return *this;
    }
    // Heads without their values, for files that lie.
    GgufBuilder& start_pair(const std::string& key, std::uint32_t type) {
        append_string(pairs_, key);
        append(pairs_, type);
        ++pair_count_;
        return *this;
    }
    GgufBuilder& start_array(const std::string& key, std::uint32_t type, std::uint64_t count) {
        start_pair(key, 9);
        append(pairs_, type);
        append(pairs_, count);
        return *this;
    }
    GgufBuilder& raw(const Bytes& bytes) {
        pairs_.insert(pairs_.end(), bytes.begin(), bytes.end());
        return *this;
    }

    GgufRecord& tensor(const std::string& name, const Tensor& values) {
        const Tensor dense = values.contiguous();
        GgufRecord record{.name = name, .dimensions = {}, .type = file_types().at(values.dtype())};
        for (int dim = values.rank() - 1; dim >= 0; --dim)
            record.dimensions.push_back(static_cast<std::uint64_t>(values.size(dim)));
        const auto* begin = static_cast<const std::byte*>(dense.view().data);
        record.data.assign(begin, begin + bytes_of(values.dtype(), values.elements()));
        return records.emplace_back(std::move(record));
    }

    Bytes build() const {
        Bytes file;
        for (const char c : {'G', 'G', 'U', 'F'}) append(file, c);
        append(file, version);
        append(file, tensor_count.value_or(records.size()));
        append(file, metadata_count.value_or(pair_count_));
        file.insert(file.end(), pairs_.begin(), pairs_.end());
        Bytes data;
        for (const GgufRecord& record : records) {
            pad(data);
            append_string(file, record.name);
            append(file, static_cast<std::uint32_t>(record.dimensions.size()));
            for (const std::uint64_t dimension : record.dimensions) append(file, dimension);
            append(file, record.type);
            append<std::uint64_t>(file, record.offset.value_or(data.size()));
            data.insert(data.end(), record.data.begin(), record.data.end());
        }
        pad(file);
        file.insert(file.end(), data.begin(), data.end());
        return file;
    }

    formats::Gguf parse() const { return parse_bytes(build()); }

    static formats::Gguf parse_bytes(Bytes bytes) {
        const auto owner = std::make_shared<Bytes>(std::move(bytes));
        return formats::parse_gguf(*owner, owner, "test.gguf");
    }

    void write(const std::filesystem::path& path) const {
        const Bytes bytes = build();
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }

    static const std::map<DType, std::uint32_t>& file_types() {
        static const std::map<DType, std::uint32_t> types = {
            {DType::F32, 0},  {DType::F16, 1},  {DType::Q4_0, 2},  {DType::Q4_1, 3},  {DType::Q5_0, 6},
            {DType::Q5_1, 7}, {DType::Q8_0, 8}, {DType::Q4_K, 12}, {DType::Q5_K, 13}, {DType::Q6_K, 14},
            {DType::I32, 26}, {DType::I64, 27}, {DType::F64, 28},  {DType::BF16, 30}};
        return types;
    }

   private:
    template <class T>
    static constexpr std::uint32_t type_of() {
        if constexpr (std::is_same_v<T, std::uint8_t>) return 0;
        if constexpr (std::is_same_v<T, std::int8_t>) return 1;
        if constexpr (std::is_same_v<T, std::uint16_t>) return 2;
        if constexpr (std::is_same_v<T, std::int16_t>) return 3;
        if constexpr (std::is_same_v<T, std::uint32_t>) return 4;
        if constexpr (std::is_same_v<T, std::int32_t>) return 5;
        if constexpr (std::is_same_v<T, float>) return 6;
        if constexpr (std::is_same_v<T, bool>) return 7;
        if constexpr (std::is_same_v<T, std::string>) return 8;
        if constexpr (std::is_same_v<T, std::uint64_t>) return 10;
        if constexpr (std::is_same_v<T, std::int64_t>) return 11;
        return 12;
    }
    template <class T>
    void append_value(const T& value) {
        if constexpr (std::is_same_v<T, std::string>)
            append_string(pairs_, value);
        else
            append(pairs_, value);
    }
    void pad(Bytes& bytes) const { bytes.resize((bytes.size() + alignment - 1) / alignment * alignment); }

    Bytes pairs_;
    std::uint64_t pair_count_ = 0;
};

}  // namespace tessera::testing
