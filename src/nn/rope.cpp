#include "nn/rope.h"

#include <algorithm>

namespace tessera::nn {
namespace {

// Two scalings look at how long the text is by now.
bool follows_length(const RopeSettings& settings) {
    return settings.scaling.kind == ops::RopeScalingKind::dynamic_ntk ||
           settings.scaling.kind == ops::RopeScalingKind::longrope;
}

std::int64_t length_so_far(const Tensor& positions) {
    const std::vector<std::int64_t> values = positions.to_vector<std::int64_t>();
    return values.empty() ? 0 : *std::max_element(values.begin(), values.end()) + 1;
}

}  // namespace

Rope::Rope(const RopeSettings& settings)
    : settings_(settings),
      frequencies_(ops::rope_frequencies(settings.rotary_width, settings.theta, settings.scaling)) {}

Tensor Rope::forward(const Tensor& x, const Tensor& positions) const {
    if (!frequencies_.inverse_frequencies.defined()) return x;
    const ops::RopeFrequencies frequencies = follows_length(settings_)
                                                 ? ops::rope_frequencies(settings_.rotary_width, settings_.theta,
                                                                         settings_.scaling, length_so_far(positions))
                                                 : frequencies_;
    return ops::rope(x, positions, frequencies.inverse_frequencies.to(x.device()),
                     {.pairing = settings_.pairing, .magnitude = frequencies.magnitude});
}

}  // namespace tessera::nn
