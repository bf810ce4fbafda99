// Choosing the next token from a model's logits: the most probable one, or a draw after temperature, top-k, top-p,
// min-p and typical filters in the reference's order (transformers' logits warpers). A draw is a pure function of
// (seed, row, step), so a seed gives the same text at any thread count and beside any other rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/inference/candidates.h"
#include "tessera/models/generation_settings.h"

namespace tessera::inference {

struct TokenProbability {
    std::int64_t id = 0;
    double log_probability = 0;
};

class Sampler {
   public:
    Sampler(const models::SamplerSettings& settings, std::int64_t vocabulary);

    // Allocates nothing.
    std::int64_t choose(std::span<const float> logits, std::uint64_t row, std::uint64_t step);

   private:
    models::SamplerSettings settings_;
    Candidates candidates_;
    std::vector<float> weights_;
};

// Log-probabilities under a model's own distribution, before anything changes it (as OpenAI gives them).
class LogProbabilities {
   public:
    LogProbabilities(std::int64_t top, std::int64_t vocabulary);

    void read(std::span<const float> logits);
    double of(std::int64_t id) const;
    std::span<const TokenProbability> top() const { return top_; }  // by falling probability

   private:
    std::int64_t count_;
    std::span<const float> logits_;
    double log_total_ = 0;
    Candidates candidates_;
    std::vector<float> weights_;
    std::vector<TokenProbability> top_;
};

}  // namespace tessera::inference
