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

struct Named {
    std::uint32_t type;
    const char* name;
};
constexpr std::array<Named, 21> named{
    {{9, "q8_1"},   {10, "q2_k"},   {11, "q3_k"},  {15, "q8_k"},  {16, "iq2_xxs"}, {17, "iq2_xs"}, {18, "iq3_xxs"},
     {19, "iq1_s"}, {20, "iq4_nl"}, {21, "iq3_s"}, {22, "iq2_s"}, {23, "iq4_xs"},  {24, "i8"},     {25, "i16"},
     {29, "iq1_m"}, {34, "tq1_0"},  {35, "tq2_0"}, {39, "mxfp4"}, {40, "nvfp4"},   {41, "q1_0"},   {42, "q2_0"}}};

}  // namespace

std::optional<DType> dtype_of_gguf_type(std::uint32_t type) {
    const auto* found = std::find_if(supported.begin(), supported.end(), [&](auto& row) { return row.type == type; });
    return found != supported.end() ? std::optional(found->dtype) : std::nullopt;
}

std::string gguf_type_name(std::uint32_t type) {
    if (const std::optional<DType> dtype = dtype_of_gguf_type(type)) return std::string(info(*dtype).name);
    const auto* known = std::find_if(named.begin(), named.end(), [&](auto& row) { return row.type == type; });
    return known != named.end() ? std::string(known->name) : text_of("number ", type);
}

std::string supported_gguf_types() {
    std::string names;
    for (const Supported& row : supported) names += text_of(names.empty() ? "" : ", ", info(row.dtype).name);
    return names;
}

}  // namespace tessera::formats
