#include "tessera/formats/gguf_types.h"

#include <algorithm>
#include <array>

namespace tessera::formats {
namespace {

struct Supported {
    std::uint32_t type;
    DType dtype;
};
constexpr std::array<Supported, 14> supported{{{0, DType::F32},
                                               {1, DType::F16},
                                               {2, DType::Q4_0},
                                               {3, DType::Q4_1},
                                               {6, DType::Q5_0},
                                               {7, DType::Q5_1},
                                               {8, DType::Q8_0},
                                               {12, DType::Q4_K},
                                               {13, DType::Q5_K},
                                               {14, DType::Q6_K},
                                               {26, DType::I32},
                                               {27, DType::I64},
                                               {28, DType::F64},
                                               {30, DType::BF16}}};

// Types that cannot be read. Blocks as ggml-common.h of llama.cpp lays them out; 0: not known here.
struct Named {
    std::uint32_t type;
    const char* name;
    std::int64_t block_elements = 0, block_bytes = 0;
};
constexpr std::array<Named, 21> named{{{9, "q8_1", 32, 36},
                                       {10, "q2_k", 256, 84},
                                       {11, "q3_k", 256, 110},
                                       {15, "q8_k", 256, 292},
                                       {16, "iq2_xxs", 256, 66},
                                       {17, "iq2_xs", 256, 74},
                                       {18, "iq3_xxs", 256, 98},
                                       {19, "iq1_s", 256, 50},
                                       {20, "iq4_nl", 32, 18},
                                       {21, "iq3_s", 256, 110},
                                       {22, "iq2_s", 256, 82},
                                       {23, "iq4_xs", 256, 136},
                                       {24, "i8", 1, 1},
                                       {25, "i16", 1, 2},
                                       {29, "iq1_m", 256, 56},
                                       {34, "tq1_0", 256, 54},
                                       {35, "tq2_0", 256, 66},
                                       {39, "mxfp4", 32, 17},
                                       {40, "nvfp4"},
                                       {41, "q1_0"},
                                       {42, "q2_0"}}};

const Named* named_type(std::uint32_t type) {
    const auto* found = std::find_if(named.begin(), named.end(), [&](auto& row) { return row.type == type; });
    return found != named.end() ? found : nullptr;
}

}  // namespace

std::optional<DType> dtype_of_gguf_type(std::uint32_t type) {
    const auto* found = std::find_if(supported.begin(), supported.end(), [&](auto& row) { return row.type == type; });
    return found != supported.end() ? std::optional(found->dtype) : std::nullopt;
}

std::string gguf_type_name(std::uint32_t type) {
    if (const std::optional<DType> dtype = dtype_of_gguf_type(type)) return std::string(info(*dtype).name);
    const Named* known = named_type(type);
    return known ? std::string(known->name) : text_of("number ", type);
}

std::optional<std::int64_t> gguf_type_bytes(std::uint32_t type, std::int64_t elements) {
    std::int64_t block_elements = 0, block_bytes = 0, bytes = 0;
    if (const std::optional<DType> dtype = dtype_of_gguf_type(type)) {
        block_elements = info(*dtype).block_elements;
        block_bytes = info(*dtype).block_bytes;
    } else if (const Named* known = named_type(type)) {
        block_elements = known->block_elements;
        block_bytes = known->block_bytes;
    }
    if (block_bytes == 0 || elements % block_elements != 0) return std::nullopt;
    if (__builtin_mul_overflow(elements / block_elements, block_bytes, &bytes)) return std::nullopt;
    return bytes;
}

std::string supported_gguf_types() {
    std::string names;
    for (const Supported& row : supported) names += text_of(names.empty() ? "" : ", ", info(row.dtype).name);
    return names;
}

}  // namespace tessera::formats
