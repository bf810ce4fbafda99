#include "tessera/core/dtype.h"

#include <algorithm>
#include <array>

#include "tessera/core/quantised.h"

namespace tessera {
namespace {

constexpr std::array<DTypeInfo, 16> table{{
    {"f64", 1, 8, nullptr},
    {"f32", 1, 4, nullptr},
    {"bf16", 1, 2, nullptr},
    {"f16", 1, 2, nullptr},
    {"i64", 1, 8, nullptr},
    {"i32", 1, 4, nullptr},
    {"u8", 1, 1, nullptr},
    {"bool", 1, 1, nullptr},
    {"q8_0", 32, 34, &q8_0_codec},
    {"q4_0", 32, 18, &q4_0_codec},
    {"q4_1", 32, 20, &q4_1_codec},
    {"q5_0", 32, 22, &q5_0_codec},
    {"q5_1", 32, 24, &q5_1_codec},
    {"q4_k", 256, 144, &q4_k_codec},
    {"q5_k", 256, 176, &q5_k_codec},
    {"q6_k", 256, 210, &q6_k_codec},
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
