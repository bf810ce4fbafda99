// Reading one value out of a block of a quantised dtype; core/quantised_simple.cpp and core/quantised_k.cpp say what
// lies where. Each product fits float's mantissa, so values have the bits that the host's codecs give.
#pragma once

#include <cstdint>

#include "tessera/core/dtype.h"
#include "tessera/kernels/cuda/values.h"

namespace tessera::kernels::cuda {

__device__ inline float half_at(const std::uint8_t* bytes) {
    Float16 half;
    half.bits = static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
    return convert_to<float>(half);
}

struct Q8Block {
    static constexpr int elements = 32, bytes = 34;
    static __device__ float value(const std::uint8_t* block, int i) {
        return half_at(block) * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
    }
};

template <int bits, bool has_minimum>
struct NibbleBlock {
    static constexpr int elements = 32, high_at = has_minimum ? 4 : 2, low_at = high_at + (bits == 5 ? 4 : 0),
                         bytes = low_at + elements / 2;
    static __device__ float value(const std::uint8_t* block, int i) {
        int q = block[low_at + i % 16] >> (i < 16 ? 0 : 4) & 15;
        if constexpr (bits == 5) q |= (block[high_at + i / 8] >> i % 8 & 1) << 4;
        if constexpr (has_minimum) return static_cast<float>(q) * half_at(block) + half_at(block + 2);
        return static_cast<float>(q - (1 << (bits - 1))) * half_at(block);
    }
};

template <int bits>
struct MinimaBlock {
    static constexpr int elements = 256, high_at = 16, low_at = high_at + (bits == 5 ? 32 : 0),
                         bytes = low_at + elements / 2;
    static __device__ float value(const std::uint8_t* block, int i) {
        const int s = i / 32, within = i % 32;
        const std::uint8_t* scales = block + 4;
        int scale, minimum;
        if (s < 4) {
            scale = scales[s] & 63;
            minimum = scales[s + 4] & 63;
        } else {
            scale = (scales[s + 4] & 15) | (scales[s - 4] >> 6) << 4;
            minimum = scales[s + 4] >> 4 | (scales[s] >> 6) << 4;
        }
        int q = block[low_at + s / 2 * 32 + within] >> s % 2 * 4 & 15;
        if constexpr (bits == 5) q |= (block[high_at + within] >> s & 1) << 4;
        return half_at(block) * static_cast<float>(scale) * static_cast<float>(q) -
               half_at(block + 2) * static_cast<float>(minimum);
    }
};

struct Q6Block {
    static constexpr int elements = 256, high_at = 128, scales_at = 192, d_at = 208, bytes = 210;
    static __device__ float value(const std::uint8_t* block, int i) {
        const int half = i / 128, within = i % 128;
        const int low = block[half * 64 + within % 64] >> within / 64 * 4 & 15;
        const int high = block[high_at + half * 32 + within % 32] >> within / 32 * 2 & 3;
        const float scale =
            half_at(block + d_at) * static_cast<float>(static_cast<std::int8_t>(block[scales_at + i / 16]));
        return scale * static_cast<float>((low | high << 4) - 32);
    }
};

// Calls visitor(Type<Q8Block>{}) and so on.
template <class Visitor>
void visit_quantised(DType dtype, const char* who, Visitor&& visitor) {
    switch (dtype) {
        case DType::Q8_0: return visitor(Type<Q8Block>{});
        case DType::Q4_0: return visitor(Type<NibbleBlock<4, false>>{});
        case DType::Q4_1: return visitor(Type<NibbleBlock<4, true>>{});
        case DType::Q5_0: return visitor(Type<NibbleBlock<5, false>>{});
        case DType::Q5_1: return visitor(Type<NibbleBlock<5, true>>{});
        case DType::Q4_K: return visitor(Type<MinimaBlock<4>>{});
        case DType::Q5_K: return visitor(Type<MinimaBlock<5>>{});
        case DType::Q6_K: return visitor(Type<Q6Block>{});
        default: fail(who, ": ", dtype, " is not a quantised dtype");
    }
}

}  // namespace tessera::kernels::cuda
