// Tokens that may be chosen, and the ways to narrow them down (transformers' logits warpers). Selections are partial: a
// vocabulary of 256k is never sorted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::inference {

struct Candidate {
    float score = 0;
    float weight = 0;  // its probability but for a factor that all share
    std::int64_t id = 0;
};

float highest(std::span<const float> logits);  // NaN where one of them is

// exp((score − highest) · sharpness) of each, and their sum.
double weigh(std::span<const float> logits, float highest, float sharpness, std::span<float> weights);

// Where the cumulated weight passes `position`, of [0, total).
std::int64_t place_of(std::span<const float> weights, double position);

class Candidates {
   public:
    explicit Candidates(std::int64_t vocabulary);

    // The `count` highest logits and whatever equals the last of them.
    void take_highest(std::span<const float> logits, std::int64_t count);
    // All with a weight above `least`; the others' weight counts in the total still.
    void take_above(std::span<const float> logits, std::span<const float> weights, double total, float least);
    void weigh(float highest, float sharpness);  // those taken by score

    // Top-p (Holtzman et al. 2020): the most probable tokens, while those before them hold less than `mass`.
    void keep_mass(double mass);
    // Min-p (Nguyen et al. 2024): those at least `share` times as probable as the first.
    void keep_share(double share);
    // Typical (Meister et al. 2022): nearest to the entropy in surprise, until they hold `mass`. Scores are lost.
    void keep_typical(double mass, float highest, float sharpness);

    // The candidate in which the cumulated weight passes `position`, of [0, 1), of the total.
    std::int64_t at(double position) const;
    // By falling score, then by rising id; at most `count`.
    void sort_first(std::size_t count);
    std::span<const Candidate> list() const { return list_; }

   private:
    void recount();

    std::vector<Candidate> list_;
    std::vector<float> heap_;
    double total_ = 0;
};

}  // namespace tessera::inference
