#include "tessera/nn/rope.h"

#include <algorithm>
#include <limits>

namespace tessera::nn {
namespace {

using ops::RopeScalingKind;

std::int64_t length_so_far(const Tensor& positions) {
    const Tensor host = positions.to(cpu).contiguous();
    const std::int64_t* values = host.data<std::int64_t>();
    return host.elements() == 0 ? 0 : *std::max_element(values, values + host.elements()) + 1;
}

}  // namespace

Rope::Rope(const RopeSettings& settings) : settings_(settings) {
    const auto of_length = [&](std::int64_t length) {
        return ops::rope_frequencies(settings.rotary_width, settings.theta, settings.scaling, length);
    };
    constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();
    const ops::RopeFrequencies usual = of_length(0);
    frequencies_ = DeviceCopies(usual.inverse_frequencies);
    magnitude_ = usual.magnitude;
    if (settings.scaling.kind == RopeScalingKind::Longrope)
        long_frequencies_ = DeviceCopies(of_length(endless).inverse_frequencies);
}

// Two scalings look at how long the text is by now.
Tensor Rope::frequencies(const Tensor& positions, Device device) const {
    const RopeScalingKind kind = settings_.scaling.kind;
    if (kind != RopeScalingKind::DynamicNtk && kind != RopeScalingKind::Longrope) return frequencies_.on(device);
    const std::int64_t length = length_so_far(positions);
    if (length <= settings_.scaling.original_length) return frequencies_.on(device);
    if (kind == RopeScalingKind::Longrope) return long_frequencies_.on(device);
    return ops::rope_frequencies(settings_.rotary_width, settings_.theta, settings_.scaling, length)
        .inverse_frequencies.to(device);
}

Tensor Rope::forward(const Tensor& x, const Tensor& positions) const {
    if (!frequencies_.defined()) return x;
    return ops::rope(x, positions, frequencies(positions, x.device()),
                     {.pairing = settings_.pairing, .magnitude = magnitude_});
}

}  // namespace tessera::nn
