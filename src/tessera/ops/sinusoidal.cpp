#include "tessera/ops/sinusoidal.h"

#include <cmath>

namespace tessera::ops {

Tensor sinusoidal_positions(std::int64_t count, std::int64_t width) {
    check(count >= 0 && width >= 1, "sinusoidal_positions: no table of ", count, " positions, ", width, " wide");
    const Tensor out = Tensor::empty({count, width});
    for (std::int64_t column = 0; column < width; ++column) {
        const double exponent = static_cast<double>(column / 2 * 2) / static_cast<double>(width);
        const double frequency = std::pow(10000.0, -exponent);
        for (std::int64_t i = 0; i < count; ++i) {
            const double angle = static_cast<double>(i) * frequency;
            out.data<float>()[i * width + column] =
                static_cast<float>(column % 2 == 0 ? std::sin(angle) : std::cos(angle));
        }
    }
    return out;
}

}  // namespace tessera::ops
