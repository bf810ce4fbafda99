#include "tessera/inference/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tessera/core/error.h"
#include "tessera/core/random.h"

namespace tessera::inference {
namespace {

// In [0, 1), a multiple of 2^-53.
double position_of(std::uint64_t seed, std::uint64_t row, std::uint64_t step) {
    const RandomBlock block = philox({.seed = seed, .stream = row}, step);
    const std::uint64_t bits = (std::uint64_t{block.word[0]} << 32 | block.word[1]) >> 11;
    return static_cast<double>(bits) * 0x1p-53;
}

float checked_highest(std::span<const float> logits) {
    const float best = highest(logits);
    check(!std::isnan(best), "the model's logits are not numbers (NaN): its weights or its input are broken");
    check(best > -std::numeric_limits<float>::infinity(), "no token is left to choose: every score is −∞");
    return best;
}

std::int64_t first_at(std::span<const float> logits, float value) {
    return std::find(logits.begin(), logits.end(), value) - logits.begin();
}

}  // namespace

Sampler::Sampler(const models::SamplerSettings& settings, std::int64_t vocabulary)
    : settings_(settings), candidates_(settings.is_greedy() ? 0 : vocabulary) {
    settings_.check_values();
    if (!settings_.is_greedy()) weights_.resize(static_cast<std::size_t>(vocabulary));
}

std::int64_t Sampler::choose(std::span<const float> logits, std::uint64_t row, std::uint64_t step) {
    const float best = checked_highest(logits);
    if (settings_.is_greedy() || std::isinf(best)) return first_at(logits, best);
    const double position = position_of(settings_.seed, row, step);
    const auto sharpness = static_cast<float>(1 / std::max(settings_.temperature, 1e-6));
    const auto vocabulary = static_cast<std::int64_t>(logits.size());
    const bool limits_count = settings_.top_k > 0 && settings_.top_k < vocabulary;
    const bool narrows = settings_.top_p < 1 || settings_.min_p > 0 || settings_.typical_p < 1;
    if (limits_count) {
        candidates_.take_highest(logits, settings_.top_k);
        candidates_.weigh(best, sharpness);
    } else {
        const double total = weigh(logits, best, sharpness, weights_);
        if (!narrows) return place_of(weights_, position * total);
        // Together, tokens of no more than (1 − p) / V each hold no more than 1 − p: none of them can stay. Nor can
        // those below min-p, the first weight being 1. Rounding gets its share: the filters themselves are exact.
        const double least = std::max((1 - settings_.top_p) * total / static_cast<double>(vocabulary), settings_.min_p);
        candidates_.take_above(logits, weights_, total, static_cast<float>(least * (1 - 1e-6)));
    }
    if (settings_.top_p < 1) candidates_.keep_mass(settings_.top_p);
    if (settings_.min_p > 0) candidates_.keep_share(settings_.min_p);
    if (settings_.typical_p < 1) candidates_.keep_typical(settings_.typical_p, best, sharpness);
    return candidates_.at(position);
}

LogProbabilities::LogProbabilities(std::int64_t top, std::int64_t vocabulary)
    : count_(std::min(top, vocabulary)), candidates_(count_ > 0 ? vocabulary : 0) {
    check(top >= 0, "log-probabilities: expected 0 or more of the most probable tokens, found ", top);
    weights_.resize(static_cast<std::size_t>(vocabulary));
    top_.reserve(static_cast<std::size_t>(count_));
}

void LogProbabilities::read(std::span<const float> logits) {
    const float best = checked_highest(logits);
    logits_ = logits;
    log_total_ = best + std::log(weigh(logits, best, 1, weights_));
    top_.clear();
    if (count_ == 0) return;
    candidates_.take_highest(logits, count_);
    candidates_.sort_first(static_cast<std::size_t>(count_));
    for (const Candidate& candidate : candidates_.list()) top_.push_back({candidate.id, of(candidate.id)});
}

double LogProbabilities::of(std::int64_t id) const { return logits_[static_cast<std::size_t>(id)] - log_total_; }

}  // namespace tessera::inference
