#include "tessera/ops/rope_frequencies.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "support/expect_error.h"

namespace tessera::testing {
namespace {

using ops::RopeScaling;
using ops::RopeScalingKind;

std::vector<double> frequencies(std::int64_t width, double theta, const RopeScaling& scaling, std::int64_t length = 0) {
    return ops::rope_frequencies(width, theta, scaling, length).inverse_frequencies.to_vector<double>();
}

// Every pair against a scalar definition in double; f32 arithmetic may differ in its last digits.
void expect_pairs(const std::vector<double>& actual, const std::function<double(double j)>& expected) {
    for (std::size_t j = 0; j < actual.size(); ++j) {
        const double value = expected(static_cast<double>(j));
        EXPECT_NEAR(actual[j], value, 1e-6 * value) << "pair " << j;
    }
}

double plain(double theta, double width, double j) { return std::pow(theta, -2 * j / width); }

TEST(RopeFrequencies, PlainOnes) {
    expect_pairs(frequencies(64, 10000, {}), [](double j) { return plain(10000, 64, j); });
    EXPECT_EQ(frequencies(64, 10000, {})[0], 1);
    // 10000^(-2·16/64) = 10000^(-1/2)
    EXPECT_FLOAT_EQ(static_cast<float>(frequencies(64, 10000, {})[16]), 0.01f);
    EXPECT_EQ(ops::rope_frequencies(64, 10000).magnitude, 1);
}

TEST(RopeFrequencies, LinearDividesAll) {
    const RopeScaling scaling{.kind = RopeScalingKind::Linear, .factor = 4};
    expect_pairs(frequencies(128, 500000, scaling), [](double j) { return plain(500000, 128, j) / 4; });
}

TEST(RopeFrequencies, DynamicNtkIsPlainUpToTheOriginalLength) {
    const RopeScaling scaling{.kind = RopeScalingKind::DynamicNtk, .factor = 2, .original_length = 2048};
    EXPECT_EQ(frequencies(64, 10000, scaling), frequencies(64, 10000, {}));
    EXPECT_EQ(frequencies(64, 10000, scaling, 100), frequencies(64, 10000, {}));
    EXPECT_EQ(frequencies(64, 10000, scaling, 2048), frequencies(64, 10000, {}));
}

TEST(RopeFrequencies, DynamicNtkRaisesTheBase) {
    const RopeScaling scaling{.kind = RopeScalingKind::DynamicNtk, .factor = 2, .original_length = 2048};
    const auto values = frequencies(64, 10000, scaling, 8192);
    expect_pairs(values, [](double j) {
        const double base = 10000 * std::pow(2.0 * 8192 / 2048 - 1, 64.0 / 62);
        return std::pow(base, -2 * j / 64);
    });
    // The base is chosen so that the slowest pair is divided by the stretch of 7 exactly.
    EXPECT_NEAR(values[31], plain(10000, 64, 31) / 7, 1e-6 * values[31]);
}

struct YarnRamp {
    double low, high;
};

double yarn_pair(double j, double theta, double width, double factor, YarnRamp ramp) {
    const double divided = std::min(1.0, std::max(0.0, (j - ramp.low) / (ramp.high - ramp.low)));
    return plain(theta, width, j) * ((1 - divided) + divided / factor);
}

TEST(RopeFrequencies, YarnKeepsFastPairsAndDividesSlowOnes) {
    const RopeScaling scaling{.kind = RopeScalingKind::Yarn, .factor = 40, .original_length = 4096};
    // Turns over 4096 positions: 4096 θ^(−2j/64) / 2π = 32 at j = 10.47…, 1 at j = 22.51….
    const double low = 64 * std::log(4096 / (32 * 2 * std::numbers::pi)) / (2 * std::log(10000.0));
    const double high = 64 * std::log(4096 / (2 * std::numbers::pi)) / (2 * std::log(10000.0));
    EXPECT_NEAR(low, 10.47, 0.01);
    EXPECT_NEAR(high, 22.51, 0.01);
    const auto values = frequencies(64, 10000, scaling);
    expect_pairs(values, [](double j) { return yarn_pair(j, 10000, 64, 40, {10, 23}); });
    EXPECT_EQ(values[10], frequencies(64, 10000, {})[10]);
    EXPECT_NEAR(values[23], plain(10000, 64, 23) / 40, 1e-6 * values[23]);

    RopeScaling exact = scaling;
    exact.truncate = false;
    expect_pairs(frequencies(64, 10000, exact), [&](double j) { return yarn_pair(j, 10000, 64, 40, {low, high}); });

    RopeScaling other = scaling;
    other.beta_fast = 16;
    other.beta_slow = 4;  // 12.88… and 17.70…
    expect_pairs(frequencies(64, 10000, other), [](double j) { return yarn_pair(j, 10000, 64, 40, {12, 18}); });
}

TEST(RopeFrequencies, YarnRampOfNoLengthIsAStep) {
    // So short an original length that both ends fall on pair 0.
    const RopeScaling scaling{.kind = RopeScalingKind::Yarn, .factor = 4, .original_length = 6, .beta_fast = 1};
    const auto values = frequencies(8, 10000, scaling);
    EXPECT_EQ(values[0], 1);
    for (std::size_t j = 1; j < 4; ++j)
        EXPECT_NEAR(values[j], plain(10000, 8, static_cast<double>(j)) / 4, 1e-6 * values[j]);
}

TEST(RopeFrequencies, YarnMagnitude) {
    RopeScaling scaling{.kind = RopeScalingKind::Yarn, .factor = std::exp(2.0), .original_length = 4096};
    EXPECT_NEAR(ops::rope_frequencies(64, 10000, scaling).magnitude, 1.2, 1e-12);
    scaling.mscale = 0.5;
    EXPECT_NEAR(ops::rope_frequencies(64, 10000, scaling).magnitude, 1.2, 1e-12) << "one of the two is not enough";
    scaling.mscale_all_dim = 1.5;
    EXPECT_NEAR(ops::rope_frequencies(64, 10000, scaling).magnitude, 1.1 / 1.3, 1e-12);
    scaling.mscale_all_dim = 0.5;
    EXPECT_EQ(ops::rope_frequencies(64, 10000, scaling).magnitude, 1);
    scaling.attention_factor = 0.75;
    EXPECT_EQ(ops::rope_frequencies(64, 10000, scaling).magnitude, 0.75);
    EXPECT_EQ(ops::yarn_magnitude(1), 1);
    EXPECT_EQ(ops::yarn_magnitude(0.5, 3), 1);
}

TEST(RopeFrequencies, Llama3) {
    const RopeScaling scaling{.kind = RopeScalingKind::ByWavelength, .factor = 8, .original_length = 8192};
    const auto values = frequencies(128, 500000, scaling), unscaled = frequencies(128, 500000, {});
    int kept = 0, divided = 0, between = 0;
    for (std::size_t j = 0; j < values.size(); ++j) {
        const double wavelength = 2 * std::numbers::pi / unscaled[j];
        if (wavelength < 8192 / 4) {
            EXPECT_EQ(values[j], unscaled[j]);
            ++kept;
        } else if (wavelength > 8192) {
            EXPECT_FLOAT_EQ(static_cast<float>(values[j]), static_cast<float>(unscaled[j] / 8));
            ++divided;
        } else {
            const double smooth = (8192 / wavelength - 1) / (4 - 1);
            EXPECT_NEAR(values[j], unscaled[j] * (smooth + (1 - smooth) / 8), 1e-6 * values[j]);
            ++between;
        }
    }
    // ln(8192/4/2π)/ln(500000)·64 = 28.2, and 35.0 for the whole length
    EXPECT_EQ(kept, 29);
    EXPECT_EQ(between, 6);
    EXPECT_EQ(divided, 29);
    EXPECT_EQ(ops::rope_frequencies(128, 500000, scaling).magnitude, 1);
}

TEST(RopeFrequencies, FactorOneChangesNothing) {
    for (const auto kind :
         {RopeScalingKind::Linear, RopeScalingKind::DynamicNtk, RopeScalingKind::ByWavelength, RopeScalingKind::Yarn}) {
        const auto values = frequencies(64, 10000, {.kind = kind, .factor = 1, .original_length = 4096});
        expect_pairs(values, [](double j) { return plain(10000, 64, j); });
    }
}

TEST(RopeFrequencies, BadInputSaysWhat) {
    expect_error([] { ops::rope_frequencies(7, 10000); }, {"rope_frequencies", "7"});
    expect_error([] { ops::rope_frequencies(0, 10000); }, {"rope_frequencies", "0"});
    expect_error([] { ops::rope_frequencies(8, 0); }, {"rope_frequencies", "theta"});
    expect_error([] { ops::rope_frequencies(8, 10, {.kind = RopeScalingKind::Linear, .factor = 0}); }, {"factor"});
    expect_error([] { ops::rope_frequencies(8, 10, {.kind = RopeScalingKind::Yarn, .factor = 2}); },
                 {"original length"});
}

}  // namespace
}  // namespace tessera::testing
