#include "tessera/ops/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tessera/core/parallel.h"

namespace tessera::ops {
namespace {

constexpr std::int64_t block = 4;  // values per Philox block

struct Values {
    double of[block];
};

// values_of(b) gives the values of elements 4b … 4b + 3.
template <class ValuesOf>
Tensor make(const char* who, const Shape& shape, DType dtype, Device device, const ValuesOf& values_of) {
    const Tensor out = Tensor::empty(shape, dtype, cpu);
    const std::int64_t elements = shape.elements();
    visit_float(dtype, who, [&]<class T>(Type<T>) {
        T* data = out.data<T>();
        parallel_for((elements + block - 1) / block, 1024, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t b = begin; b < end; ++b) {
                const Values values = values_of(static_cast<std::uint64_t>(b));
                const std::int64_t count = std::min(block, elements - b * block);
                for (std::int64_t i = 0; i < count; ++i)
                    data[b * block + i] = static_cast<T>(static_cast<compute_t<T>>(values.of[i]));
            }
        });
    });
    return out.to(device);
}

// Two standard normal values out of two words (Box and Muller 1958).
void normal_pair(std::uint32_t a, std::uint32_t b, double* pair) {
    const auto radius = std::sqrt(-2 * std::log((static_cast<float>(a) + 0.5f) * 0x1p-32f));
    const float angle = static_cast<float>(b) * (0x1p-32f * 2 * std::numbers::pi_v<float>);
    pair[0] = radius * std::cos(angle);
    pair[1] = radius * std::sin(angle);
}

Values standard_normal(RandomKey key, std::uint64_t index) {
    const RandomBlock bits = philox(key, index);
    Values values;
    normal_pair(bits.word[0], bits.word[1], values.of);
    normal_pair(bits.word[2], bits.word[3], values.of + 2);
    return values;
}

}  // namespace

Tensor uniform(const Shape& shape, double low, double high, RandomKey key, DType dtype, Device device) {
    check(low <= high, "uniform: the range [", low, ", ", high, ") is empty");
    return make("uniform", shape, dtype, device, [=](std::uint64_t index) {
        const RandomBlock bits = philox(key, index);
        Values values;
        for (int i = 0; i < block; ++i) values.of[i] = low + (high - low) * double{tessera::uniform(bits.word[i])};
        return values;
    });
}

Tensor normal(const Shape& shape, double mean, double stddev, RandomKey key, DType dtype, Device device) {
    check(stddev >= 0, "normal: the standard deviation must not be negative, as is ", stddev);
    return make("normal", shape, dtype, device, [=](std::uint64_t index) {
        Values values = standard_normal(key, index);
        for (double& value : values.of) value = mean + stddev * value;
        return values;
    });
}

}  // namespace tessera::ops
