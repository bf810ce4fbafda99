// Element types. A dtype is an index into a table of facts: how many elements make a block, how many bytes a block
// takes and, for block-quantised dtypes, the codec that turns blocks into floats and back. Plain dtypes have blocks of
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/core/error.h"
#include "tessera/core/half.h"

namespace tessera {

enum class DType : std::uint8_t {
    F64,
    F32,
    BF16,
    F16,
    I64,
    I32,
    U8,
    Bool,
    Q8_0,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q4_K,
    Q5_K,
    Q6_K
};

struct BlockCodec {
    void (*decode)(const void* blocks, float* values, std::int64_t block_count);
    void (*encode)(const float* values, void* blocks, std::int64_t block_count);
};

struct DTypeInfo {
    std::string_view name;
    int block_elements;
    int block_bytes;
    const BlockCodec* codec;  // null for plain dtypes
};

const DTypeInfo& info(DType dtype);
inline std::string_view name(DType dtype) { return info(dtype).name; }
inline void append_text(std::string& text, DType dtype) { text += name(dtype); }

constexpr bool is_float(DType dtype) { return dtype <= DType::F16; }
constexpr bool is_integer(DType dtype) { return dtype == DType::I64 || dtype == DType::I32 || dtype == DType::U8; }
inline bool is_quantised(DType dtype) { return info(dtype).codec != nullptr; }

// Bytes of `elements` values of this dtype; throws where a block would be cut.
std::int64_t bytes_of(DType dtype, std::int64_t elements);
DType dtype_from_name(std::string_view name);

// dtype_of<float> == DType::F32 and so on.
template <class T>
constexpr DType dtype_of = [] {
    static_assert(!sizeof(T), "no dtype for this type");
    return DType::F32;
}();
template <>
inline constexpr DType dtype_of<double> = DType::F64;
template <>
inline constexpr DType dtype_of<float> = DType::F32;
template <>
inline constexpr DType dtype_of<BFloat16> = DType::BF16;
template <>
inline constexpr DType dtype_of<Float16> = DType::F16;
template <>
inline constexpr DType dtype_of<std::int64_t> = DType::I64;
template <>
inline constexpr DType dtype_of<std::int32_t> = DType::I32;
template <>
inline constexpr DType dtype_of<std::uint8_t> = DType::U8;
template <>
inline constexpr DType dtype_of<bool> = DType::Bool;

template <class T>
struct Type {
    using type = T;
};

// Calls `visitor(Type<float>{})` and so on for the dtype's C++ type. `who` names the op in the error.
template <class Visitor>
decltype(auto) visit_float(DType dtype, std::string_view who, Visitor&& visitor) {
    switch (dtype) {
        case DType::F64: return visitor(Type<double>{});
        case DType::F32: return visitor(Type<float>{});
        case DType::BF16: return visitor(Type<BFloat16>{});
        case DType::F16: return visitor(Type<Float16>{});
        default: fail(who, ": needs a float dtype, not ", dtype);
    }
}

template <class Visitor>
decltype(auto) visit_index(DType dtype, std::string_view who, Visitor&& visitor) {
    switch (dtype) {
        case DType::I64: return visitor(Type<std::int64_t>{});
        case DType::I32: return visitor(Type<std::int32_t>{});
        default: fail(who, ": needs i64 or i32, not ", dtype);
    }
}

template <class Visitor>
decltype(auto) visit_plain(DType dtype, std::string_view who, Visitor&& visitor) {
    switch (dtype) {
        case DType::I64: return visitor(Type<std::int64_t>{});
        case DType::I32: return visitor(Type<std::int32_t>{});
        case DType::U8: return visitor(Type<std::uint8_t>{});
        case DType::Bool: return visitor(Type<bool>{});
        default: return visit_float(dtype, who, visitor);
    }
}

// The type in which values of T are computed: float for the 16-bit formats, T itself otherwise.
template <class T>
struct Compute {
    using type = T;
};
template <>
struct Compute<BFloat16> {
    using type = float;
};
template <>
struct Compute<Float16> {
    using type = float;
};
template <class T>
using compute_t = typename Compute<T>::type;

}  // namespace tessera
