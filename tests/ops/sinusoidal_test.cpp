#include "tessera/ops/sinusoidal.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"

namespace tessera::testing {
namespace {

TEST(Sinusoidal, IsItsDefinition) {
    for (const std::int64_t width : {1, 6, 7, 64}) {
        const Tensor table = ops::sinusoidal_positions(50, width);
        EXPECT_EQ(table.shape(), (Shape{50, width}));
        const auto values = table.to_vector<float>();
        for (std::int64_t i = 0; i < 50; ++i)
            for (std::int64_t j = 0; j < width; ++j) {
                const double angle = static_cast<double>(i) /
                                     std::pow(10000, static_cast<double>(j - j % 2) / static_cast<double>(width));
                EXPECT_NEAR(values[static_cast<std::size_t>(i * width + j)], j % 2 ? std::cos(angle) : std::sin(angle),
                            1e-6);
            }
    }
    EXPECT_EQ(ops::sinusoidal_positions(0, 4).shape(), (Shape{0, 4}));
    expect_error([] { ops::sinusoidal_positions(3, 0); }, {"sinusoidal_positions"});
}

}  // namespace
}  // namespace tessera::testing
