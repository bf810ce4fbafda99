#include "tessera/ops/rope_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

namespace tessera::ops {
namespace {

using Values = std::span<float>;  // one per pair, to be filled

std::int64_t width_of(Values pairs) { return 2 * static_cast<std::int64_t>(pairs.size()); }

// θ^(2j / width): the wavelength of pair j over 2π.
void periods(Values out, double theta) {
    for (std::size_t j = 0; j < out.size(); ++j) {
        const float exponent = static_cast<float>(2 * j) / static_cast<float>(width_of(out));
        out[j] = static_cast<float>(std::pow(static_cast<double>(static_cast<float>(theta)), exponent));
    }
}

void unscaled(Values out, double theta) {
    periods(out, theta);
    for (float& value : out) value = 1.0f / value;
}

void linear(Values out, double theta, double factor) {
    unscaled(out, theta);
    for (float& value : out) value /= static_cast<float>(factor);
}

void dynamic_ntk(Values out, double theta, const RopeScaling& scaling, std::int64_t sequence_length) {
    check(out.size() > 1, "rope_frequencies: dynamic_ntk needs a rotary width above 2");
    const auto original = static_cast<double>(scaling.original_length), dims = static_cast<double>(width_of(out));
    const double length = std::max(original, static_cast<double>(sequence_length));
    const double stretch = scaling.factor * length / original - (scaling.factor - 1);
    unscaled(out, theta * std::pow(stretch, dims / (dims - 2)));
}

// The pair (as a real number) that turns `turns` times over the original length.
double pair_turning(double turns, std::int64_t width, double theta, const RopeScaling& scaling) {
    const double wavelength = static_cast<double>(scaling.original_length) / turns;
    return static_cast<double>(width) * std::log(wavelength / (2 * std::numbers::pi)) / (2 * std::log(theta));
}

void yarn(Values out, double theta, const RopeScaling& scaling) {
    const std::int64_t width = width_of(out);
    double first = pair_turning(scaling.beta_fast, width, theta, scaling);
    double last = pair_turning(scaling.beta_slow, width, theta, scaling);
    if (scaling.truncate) {
        first = std::floor(first);
        last = std::ceil(last);
    }
    first = std::max(first, 0.0);
    last = std::min(last, static_cast<double>(width - 1));
    if (first == last) last += 0.001;  // no division by zero
    periods(out, theta);
    for (std::size_t j = 0; j < out.size(); ++j) {
        const float place = (static_cast<float>(j) - static_cast<float>(first)) / static_cast<float>(last - first);
        const float kept = 1.0f - std::clamp(place, 0.0f, 1.0f);
        const float whole = 1.0f / out[j], divided = 1.0f / (static_cast<float>(scaling.factor) * out[j]);
        out[j] = divided * (1.0f - kept) + whole * kept;
    }
}

double yarn_attention_factor(const RopeScaling& scaling) {
    if (scaling.attention_factor) return *scaling.attention_factor;
    if (scaling.mscale != 0 && scaling.mscale_all_dim != 0)
        return yarn_magnitude(scaling.factor, scaling.mscale) / yarn_magnitude(scaling.factor, scaling.mscale_all_dim);
    return yarn_magnitude(scaling.factor);
}

void by_wavelength(Values out, double theta, const RopeScaling& scaling) {
    const auto original = static_cast<float>(scaling.original_length);
    const auto factor = static_cast<float>(scaling.factor);
    const auto low = static_cast<float>(scaling.low_frequency_factor);
    const auto high = static_cast<float>(scaling.high_frequency_factor);
    unscaled(out, theta);
    for (float& frequency : out) {
        const float wavelength = static_cast<float>(2 * std::numbers::pi) / frequency;
        if (wavelength < original / high) continue;
        if (wavelength > original / low) {
            frequency /= factor;
            continue;
        }
        const float kept = (original / wavelength - low) / (high - low);
        frequency = (1.0f - kept) * frequency / factor + kept * frequency;
    }
}

void longrope(Values out, double theta, const RopeScaling& scaling, std::int64_t sequence_length) {
    const bool is_long = sequence_length > scaling.original_length;
    const std::vector<double>& factors = is_long ? scaling.long_factors : scaling.short_factors;
    periods(out, theta);
    check(factors.size() == out.size(), "rope_frequencies: longrope has ", factors.size(), " factors for ", out.size(),
          " pairs");
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = 1.0f / (static_cast<float>(factors[j]) * out[j]);
}

double longrope_attention_factor(const RopeScaling& scaling) {
    if (scaling.attention_factor) return *scaling.attention_factor;
    if (scaling.factor <= 1) return 1;
    return std::sqrt(1 + std::log(scaling.factor) / std::log(static_cast<double>(scaling.original_length)));
}

double magnitude(const RopeScaling& scaling) {
    if (scaling.kind == RopeScalingKind::Yarn) return yarn_attention_factor(scaling);
    return scaling.kind == RopeScalingKind::Longrope ? longrope_attention_factor(scaling) : 1;
}

void scaled(Values out, double theta, const RopeScaling& scaling, std::int64_t sequence_length) {
    switch (scaling.kind) {
        case RopeScalingKind::None: return unscaled(out, theta);
        case RopeScalingKind::Linear: return linear(out, theta, scaling.factor);
        case RopeScalingKind::DynamicNtk: return dynamic_ntk(out, theta, scaling, sequence_length);
        case RopeScalingKind::Yarn: return yarn(out, theta, scaling);
        case RopeScalingKind::ByWavelength: return by_wavelength(out, theta, scaling);
        case RopeScalingKind::Longrope: return longrope(out, theta, scaling, sequence_length);
    }
    fail("rope_frequencies: unknown scaling kind ", static_cast<int>(scaling.kind));
}

}  // namespace

double yarn_magnitude(double factor, double mscale) {
    return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

RopeFrequencies rope_frequencies(std::int64_t rotary_width, double theta, const RopeScaling& scaling,
                                 std::int64_t sequence_length) {
    check(rotary_width >= 2 && rotary_width % 2 == 0, "rope_frequencies: rotary width ", rotary_width,
          " must be even and at least 2");
    check(theta > 0, "rope_frequencies: theta ", theta, " must be positive");
    check(scaling.factor > 0, "rope_frequencies: factor ", scaling.factor, " must be positive");
    const bool needs_length = scaling.kind != RopeScalingKind::None && scaling.kind != RopeScalingKind::Linear;
    check(!needs_length || scaling.original_length > 0,
          "rope_frequencies: this scaling needs the original length, not ", scaling.original_length);
    const Tensor pairs = Tensor::empty({rotary_width / 2});
    scaled({pairs.data<float>(), static_cast<std::size_t>(pairs.elements())}, theta, scaling, sequence_length);
    return {pairs, magnitude(scaling)};
}

}  // namespace tessera::ops
