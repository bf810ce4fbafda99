#include "core/dtype.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace tessera {
namespace {

// Q8_0: 32 values as one f16 scale and 32 signed bytes.
constexpr int q8_0_elements = 32;
constexpr int q8_0_bytes = 2 + q8_0_elements;

void decode_q8_0(const void* blocks, float* values, std::int64_t block_count) {
    const auto* bytes = static_cast<const std::uint8_t*>(blocks);
    for (std::int64_t b = 0; b < block_count; ++b, bytes += q8_0_bytes) {
        Float16 scale;
        std::memcpy(&scale.bits, bytes, 2);
        for (int i = 0; i < q8_0_elements; ++i)
            values[b * q8_0_elements + i] = static_cast<float>(scale) * static_cast<std::int8_t>(bytes[2 + i]);
    }
}

void encode_q8_0(const float* values, void* blocks, std::int64_t block_count) {
    auto* bytes = static_cast<std::uint8_t*>(blocks);
    for (std::int64_t b = 0; b < block_count; ++b, bytes += q8_0_bytes, values += q8_0_elements) {
        float largest = 0;
        for (int i = 0; i < q8_0_elements; ++i) largest = std::max(largest, std::fabs(values[i]));
        const float scale = largest / 127.0f;
        const float inverse = scale > 0 ? 1.0f / scale : 0.0f;
        const Float16 stored(scale);
        std::memcpy(bytes, &stored.bits, 2);
        for (int i = 0; i < q8_0_elements; ++i)
            bytes[2 + i] = static_cast<std::uint8_t>(static_cast<std::int8_t>(std::lround(values[i] * inverse)));
    }
}

constexpr BlockCodec q8_0_codec{decode_q8_0, encode_q8_0};

constexpr std::array<DTypeInfo, 9> table{{
    {"f64", 1, 8, nullptr},
    {"f32", 1, 4, nullptr},
    {"bf16", 1, 2, nullptr},
    {"f16", 1, 2, nullptr},
    {"i64", 1, 8, nullptr},
    {"i32", 1, 4, nullptr},
    {"u8", 1, 1, nullptr},
    {"bool", 1, 1, nullptr},
    {"q8_0", q8_0_elements, q8_0_bytes, &q8_0_codec},
}};

}  // namespace

const DTypeInfo& info(DType dtype) { return table.at(static_cast<std::size_t>(dtype)); }

std::int64_t bytes_of(DType dtype, std::int64_t elements) {
    const DTypeInfo& facts = info(dtype);
    check(elements % facts.block_elements == 0, facts.name, ": ", elements, " elements are not whole blocks of ",
          facts.block_elements);
    std::int64_t bytes = 0;
    check(!__builtin_mul_overflow(elements / facts.block_elements, std::int64_t{facts.block_bytes}, &bytes), facts.name,
          ": ", elements, " elements are more than memory can be");
    return bytes;
}

DType dtype_from_name(std::string_view wanted) {
    const auto* found =
        std::find_if(table.begin(), table.end(), [&](const DTypeInfo& facts) { return facts.name == wanted; });
    check(found != table.end(), "unknown dtype '", wanted, "'");
    return static_cast<DType>(found - table.begin());
}

}  // namespace tessera
