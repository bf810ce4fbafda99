#include "tessera/inference/candidates.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace tessera::inference {
namespace {

constexpr std::size_t lanes = 16;  // independent maxima and sums, which the compiler keeps in vectors

constexpr float no_weight_below = -87.f;  // e^x is next to nothing

// e^x for x from that limit to 0, to 2 units in the last place, without a branch: x = n ln 2 + r, a polynomial for e^r,
// n into the exponent.
inline float exp_of_negative(float x) {
    constexpr float log2_e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f, round = 12582912.f;
    const float shifted = x * log2_e + round;
    const float n = shifted - round;
    const float r = x - n * ln2_high - n * ln2_low;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.f;
    const std::int32_t exponent = (std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(round)) << 23;
    return std::bit_cast<float>(std::bit_cast<std::int32_t>(p) + exponent);
}

constexpr std::size_t block = 1024;  // summed in float, the blocks in double

double sum_of(std::span<const float> values) {
    float sums[lanes] = {};
    std::size_t i = 0;
    for (; i + lanes <= values.size(); i += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += values[i + lane];
    for (; i < values.size(); ++i) sums[0] += values[i];
    double total = 0;
    for (const float sum : sums) total += sum;
    return total;
}

// Calls body(index) for the values above `limit`, which are few: most stretches hold none and are passed over at once.
template <class Body>
void for_above(std::span<const float> values, float limit, Body&& body) {
    constexpr std::size_t stretch = 64;
    for (std::size_t begin = 0; begin < values.size(); begin += stretch) {
        const std::size_t end = std::min(begin + stretch, values.size());
        std::int32_t any = 0;
        for (std::size_t i = begin; i < end; ++i) any |= values[i] > limit ? 1 : 0;
        for (std::size_t i = begin; any != 0 && i < end; ++i)
            if (values[i] > limit) body(i);
    }
}

bool is_before(const Candidate& a, const Candidate& b) { return a.score != b.score ? a.score > b.score : a.id < b.id; }

// Drops, from a long list, most of what stands behind the highest logits that hold `mass`: by coarse steps of score.
void drop_far_behind(std::vector<Candidate>& list, double mass) {
    constexpr std::size_t steps = 1024;
    if (list.size() < 4 * steps) return;
    float low = std::numeric_limits<float>::infinity(), high = -low;
    for (const Candidate& candidate : list) {
        high = std::max(high, candidate.score);
        if (candidate.weight > 0) low = std::min(low, candidate.score);
    }
    if (!(low < high)) return;
    const float scale = static_cast<float>(steps - 1) / (high - low);
    const auto step_of = [&](const Candidate& candidate) {
        return static_cast<std::size_t>(std::clamp((high - candidate.score) * scale, 0.f, float{steps - 1}));
    };
    std::array<double, steps> held{};
    for (const Candidate& candidate : list) held[step_of(candidate)] += candidate.weight;
    double sum = 0;
    std::size_t last = 0;
    while (last + 1 < steps && (sum += held[last]) < mass) ++last;
    std::erase_if(list, [&](const Candidate& candidate) { return step_of(candidate) > last + 1; });
}

// Brings the highest logits that together just reach `mass` to the front, and returns how many they are; at least 1.
// Halving, so that the time is linear in the list.
std::size_t shortest_with(std::vector<Candidate>& list, double mass) {
    drop_far_behind(list, mass);
    auto begin = list.begin(), end = list.end();
    double held = 0;  // by what stands before `begin`
    while (end - begin > 1) {
        const auto middle = begin + (end - begin) / 2;
        std::nth_element(begin, middle, end, is_before);
        double half = 0;
        for (auto at = begin; at != middle; ++at) half += at->weight;
        if (held + half >= mass) {
            end = middle;
        } else {
            held += half;
            begin = middle;
        }
    }
    return static_cast<std::size_t>(end - list.begin());
}

}  // namespace

float highest(std::span<const float> logits) {
    float best[lanes];
    std::int32_t is_nan[lanes] = {};
    std::fill(best, best + lanes, -std::numeric_limits<float>::infinity());
    const auto take = [&](float score, std::size_t lane) {
        best[lane] = score > best[lane] ? score : best[lane];
        is_nan[lane] |= score != score ? 1 : 0;
    };
    std::size_t i = 0;
    for (; i + lanes <= logits.size(); i += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) take(logits[i + lane], lane);
    for (; i < logits.size(); ++i) take(logits[i], 0);
    const bool any_nan = *std::max_element(is_nan, is_nan + lanes) > 0;
    return any_nan ? std::numeric_limits<float>::quiet_NaN() : *std::max_element(best, best + lanes);
}

double weigh(std::span<const float> logits, float highest, float sharpness, std::span<float> weights) {
    double total = 0;
    for (std::size_t begin = 0; begin < logits.size(); begin += block) {
        const std::size_t end = std::min(begin + block, logits.size());
        // Three loops, because the compiler makes vectors of each and branches of them together.
        for (std::size_t i = begin; i < end; ++i) {
            const float x = (logits[i] - highest) * sharpness;
            weights[i] = x > no_weight_below ? x : no_weight_below;
        }
        for (std::size_t i = begin; i < end; ++i) weights[i] = exp_of_negative(weights[i]);
        for (std::size_t i = begin; i < end; ++i)
            weights[i] = (logits[i] - highest) * sharpness > no_weight_below ? weights[i] : 0.f;
        total += sum_of(weights.subspan(begin, end - begin));
    }
    return total;
}

std::int64_t place_of(std::span<const float> weights, double position) {
    double held = 0;
    std::size_t last = 0;
    for (std::size_t begin = 0; begin < weights.size(); begin += block) {
        const std::span<const float> some = weights.subspan(begin, std::min(block, weights.size() - begin));
        const double more = sum_of(some);
        if (held + more <= position && begin + block < weights.size()) {  // it is not among these
            held += more;
            continue;
        }
        for (std::size_t i = 0; i < some.size(); ++i) {
            if (some[i] <= 0) continue;
            held += some[i];
            last = begin + i;
            if (held > position) return static_cast<std::int64_t>(last);
        }
    }
    return static_cast<std::int64_t>(last);
}

Candidates::Candidates(std::int64_t vocabulary) { list_.reserve(static_cast<std::size_t>(vocabulary)); }

void Candidates::take_highest(std::span<const float> logits, std::int64_t count) {
    const std::size_t wanted = std::min(static_cast<std::size_t>(count), logits.size());
    // The lowest of the highest so far stands at the heap's top; most blocks of logits hold nothing above it.
    heap_.assign(logits.begin(), logits.begin() + static_cast<std::ptrdiff_t>(wanted));
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
    constexpr std::size_t stretch = 4096;
    for (std::size_t begin = wanted; begin < logits.size(); begin += stretch)
        for_above(logits.subspan(begin, std::min(stretch, logits.size() - begin)), heap_.front(), [&](std::size_t i) {
            if (!(logits[begin + i] > heap_.front())) return;
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            heap_.back() = logits[begin + i];
            std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
        });
    const float least = heap_.front();
    const auto take = [&](std::size_t i) { list_.push_back({.score = logits[i], .id = static_cast<std::int64_t>(i)}); };
    list_.clear();
    constexpr float nothing = -std::numeric_limits<float>::infinity();
    if (least > nothing)
        for_above(logits, std::nextafter(least, nothing), take);
    else
        for (std::size_t i = 0; i < logits.size(); ++i) take(i);
}

void Candidates::take_above(std::span<const float> logits, std::span<const float> weights, double total, float least) {
    list_.clear();
    for_above(weights, least, [&](std::size_t i) {
        list_.push_back({.score = logits[i], .weight = weights[i], .id = static_cast<std::int64_t>(i)});
    });
    total_ = total;
}

void Candidates::weigh(float highest, float sharpness) {
    for (Candidate& candidate : list_) {
        const float x = (candidate.score - highest) * sharpness;
        candidate.weight = x > no_weight_below ? exp_of_negative(x) : 0.f;
    }
    recount();
}

void Candidates::recount() {
    total_ = 0;
    for (const Candidate& candidate : list_) total_ += candidate.weight;
}

void Candidates::keep_mass(double mass) {
    list_.resize(shortest_with(list_, mass * total_));
    recount();
}

void Candidates::keep_share(double share) {
    float most = 0;
    for (const Candidate& candidate : list_) most = std::max(most, candidate.weight);
    std::erase_if(list_, [&](const Candidate& candidate) { return candidate.weight < share * most; });
    recount();
}

void Candidates::keep_typical(double mass, float highest, float sharpness) {
    // −log p = log Σ w − (score − highest) · sharpness, so that no logarithm is taken of each. Of a distance to the
    // entropy only the order matters: both lack log Σ w.
    const auto log_weight = [&](const Candidate& candidate) { return (candidate.score - highest) * sharpness; };
    double mean = 0;
    for (const Candidate& candidate : list_)
        if (candidate.weight > 0) mean += candidate.weight * static_cast<double>(log_weight(candidate));
    const auto typical = static_cast<float>(mean / total_);
    for (Candidate& candidate : list_) candidate.score = -std::abs(log_weight(candidate) - typical);
    const std::size_t kept = shortest_with(list_, mass * total_);
    // Whatever is as near as the last one stays too.
    float last = std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < kept; ++i) last = std::min(last, list_[i].score);
    std::erase_if(list_, [&](const Candidate& candidate) { return candidate.score < last; });
    recount();
}

std::int64_t Candidates::at(double position) const {
    double held = 0;
    std::int64_t last = list_.front().id;
    for (const Candidate& candidate : list_) {
        if (candidate.weight <= 0) continue;
        held += candidate.weight;
        last = candidate.id;
        if (held > position * total_) break;
    }
    return last;
}

void Candidates::sort_first(std::size_t count) {
    const std::size_t kept = std::min(count, list_.size());
    std::partial_sort(list_.begin(), list_.begin() + static_cast<std::ptrdiff_t>(kept), list_.end(), is_before);
    list_.resize(kept);
}

}  // namespace tessera::inference
