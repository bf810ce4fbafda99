#include "inference/candidates.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace tessera::inference {
namespace {

constexpr std::size_t lanes = 16;  // independent maxima and sums, which the compiler keeps in vectors

// e^x for x ≤ 0 to 2 units in the last place, without a branch: x = n ln 2 + r, a polynomial for e^r, n into the
// exponent.
inline float exp_of_negative(float x) {
    constexpr float log2_e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f, round = 12582912.f;
    const float bounded = x > -87.f ? x : -87.f;
    const float shifted = bounded * log2_e + round;
    const float n = shifted - round;
    const float r = bounded - n * ln2_high - n * ln2_low;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.f;
    const std::int32_t exponent = (std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(round)) << 23;
    const float power = std::bit_cast<float>(std::bit_cast<std::int32_t>(p) + exponent);
    return x > -87.f ? power : 0.f;
}

bool is_before(const Candidate& a, const Candidate& b) { return a.score != b.score ? a.score > b.score : a.id < b.id; }

// Brings the shortest beginning of `list`, in the order of `before`, whose weight reaches `mass` to the front, and
// returns its length; at least 1. Halving, so that the time is linear in the list.
template <class Before>
std::size_t shortest_with(std::vector<Candidate>& list, double mass, Before before) {
    auto begin = list.begin(), end = list.end();
    double held = 0;  // by what stands before `begin`
    while (end - begin > 1) {
        const auto middle = begin + (end - begin) / 2;
        std::nth_element(begin, middle, end, before);
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

float highest(std::span<const float> scores) {
    float best[lanes];
    bool is_nan = false;
    std::fill(best, best + lanes, -std::numeric_limits<float>::infinity());
    std::size_t i = 0;
    for (; i + lanes <= scores.size(); i += lanes) {
        bool odd = false;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const float score = scores[i + lane];
            best[lane] = score > best[lane] ? score : best[lane];
            odd |= score != score;
        }
        is_nan |= odd;
    }
    for (; i < scores.size(); ++i) {
        best[0] = std::max(best[0], scores[i]);
        is_nan |= std::isnan(scores[i]);
    }
    return is_nan ? std::numeric_limits<float>::quiet_NaN() : *std::max_element(best, best + lanes);
}

double weigh(std::span<const float> scores, float highest, float sharpness, std::span<float> weights) {
    constexpr std::size_t block = 4096;  // summed in float, the blocks in double
    double total = 0;
    for (std::size_t begin = 0; begin < scores.size(); begin += block) {
        const std::size_t end = std::min(begin + block, scores.size());
        for (std::size_t i = begin; i < end; ++i) weights[i] = exp_of_negative((scores[i] - highest) * sharpness);
        float sums[lanes] = {};
        std::size_t i = begin;
        for (; i + lanes <= end; i += lanes)
            for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += weights[i + lane];
        for (; i < end; ++i) sums[0] += weights[i];
        for (const float sum : sums) total += sum;
    }
    return total;
}

Candidates::Candidates(std::int64_t vocabulary) { list_.reserve(static_cast<std::size_t>(vocabulary)); }

void Candidates::take_highest(std::span<const float> scores, std::int64_t count) {
    const std::size_t wanted = std::min(static_cast<std::size_t>(count), scores.size());
    // The lowest of the highest so far stands at the heap's top; most blocks of scores hold nothing above it.
    heap_.assign(scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(wanted));
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
    constexpr std::size_t block = 64;
    for (std::size_t begin = wanted; begin < scores.size(); begin += block) {
        const std::size_t end = std::min(begin + block, scores.size());
        const float limit = heap_.front();
        bool any = false;
        for (std::size_t i = begin; i < end; ++i) any |= scores[i] > limit;
        for (std::size_t i = begin; any && i < end; ++i) {
            if (!(scores[i] > heap_.front())) continue;
            std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
            heap_.back() = scores[i];
            std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
        }
    }
    const float least = heap_.front();
    list_.clear();
    for (std::size_t begin = 0; begin < scores.size(); begin += block) {
        const std::size_t end = std::min(begin + block, scores.size());
        bool any = false;
        for (std::size_t i = begin; i < end; ++i) any |= scores[i] >= least;
        for (std::size_t i = begin; any && i < end; ++i)
            if (scores[i] >= least) list_.push_back({.score = scores[i], .id = static_cast<std::int64_t>(i)});
    }
}

void Candidates::take_above(std::span<const float> scores, std::span<const float> weights, double total, float least) {
    list_.clear();
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (weights[i] > least)
            list_.push_back({.score = scores[i], .weight = weights[i], .id = static_cast<std::int64_t>(i)});
    total_ = total;
}

void Candidates::weigh(float highest, float sharpness) {
    for (Candidate& candidate : list_) candidate.weight = exp_of_negative((candidate.score - highest) * sharpness);
    recount();
}

void Candidates::recount() {
    total_ = 0;
    for (const Candidate& candidate : list_) total_ += candidate.weight;
}

void Candidates::keep_mass(double mass) {
    list_.resize(shortest_with(list_, mass * total_, is_before));
    recount();
}

void Candidates::keep_share(double share) {
    float most = 0;
    for (const Candidate& candidate : list_) most = std::max(most, candidate.weight);
    std::erase_if(list_, [&](const Candidate& candidate) { return candidate.weight < share * most; });
    recount();
}

void Candidates::keep_typical(double mass) {
    double entropy = 0;
    for (const Candidate& candidate : list_) {
        const double p = candidate.weight / total_;
        if (p > 0) entropy -= p * std::log(p);
    }
    const auto distance = [&](const Candidate& candidate) {
        return std::abs(-std::log(candidate.weight / total_) - entropy);
    };
    for (Candidate& candidate : list_) candidate.score = static_cast<float>(-distance(candidate));
    const std::size_t kept = shortest_with(list_, mass * total_, is_before);
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
