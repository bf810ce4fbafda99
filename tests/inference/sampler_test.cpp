// Each filter against its definition written plainly, and draws by their frequencies.
#include "tessera/inference/sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "support/expect_error.h"
#include "tessera/core/parallel.h"
#include "tessera/core/random.h"

namespace tessera::inference {
namespace {

using Scores = std::vector<float>;

Scores random_scores(std::size_t count, std::uint64_t seed, float spread = 4) {
    Scores logits(count);
    for (std::size_t i = 0; i < count; ++i) logits[i] = (uniform(random_bits({seed, 1}, i)) - 0.5f) * spread;
    return logits;
}

std::vector<double> softmax(const std::vector<double>& logits) {
    double best = -1e300, total = 0;
    for (const double score : logits) best = std::max(best, score);
    std::vector<double> p;
    for (const double score : logits) total += std::exp(score - best);
    for (const double score : logits) p.push_back(std::exp(score - best) / total);
    return p;
}

// The reference's filters one after the other, each over the probabilities of what the one before left.
std::vector<double> defined(const Scores& given, const models::SamplerSettings& s) {
    const double nothing = -INFINITY;
    std::vector<double> logits(given.begin(), given.end());
    for (double& score : logits) score /= s.temperature;
    const auto order_by = [&](auto key) {
        std::vector<std::size_t> order(logits.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
        return order;
    };
    if (s.top_k > 0 && s.top_k < static_cast<std::int64_t>(logits.size())) {
        std::vector<double> falling = logits;
        std::sort(falling.rbegin(), falling.rend());
        const double least = falling[static_cast<std::size_t>(s.top_k) - 1];
        for (double& score : logits)
            if (score < least) score = nothing;
    }
    if (s.top_p < 1) {
        const std::vector<double> p = softmax(logits);
        double before = 0;
        for (const std::size_t i : order_by([&](std::size_t j) { return -p[j]; })) {
            if (before >= s.top_p) logits[i] = nothing;
            before += p[i];
        }
    }
    if (s.min_p > 0) {
        const std::vector<double> p = softmax(logits);
        const double least = s.min_p * *std::max_element(p.begin(), p.end());
        for (std::size_t i = 0; i < p.size(); ++i)
            if (p[i] < least) logits[i] = nothing;
    }
    if (s.typical_p < 1) {
        const std::vector<double> p = softmax(logits);
        double entropy = 0, held = 0, last = 0;
        for (const double q : p) entropy -= q > 0 ? q * std::log(q) : 0;
        const auto distance = [&](std::size_t i) { return p[i] > 0 ? std::abs(-std::log(p[i]) - entropy) : INFINITY; };
        for (const std::size_t i : order_by(distance)) {
            last = distance(i);
            held += p[i];
            if (held >= s.typical_p) break;
        }
        for (std::size_t i = 0; i < p.size(); ++i)
            if (distance(i) > last + 1e-9) logits[i] = nothing;
    }
    return softmax(logits);
}

std::map<std::int64_t, int> drawn(const Scores& logits, const models::SamplerSettings& settings, int draws) {
    Sampler sampler(settings, static_cast<std::int64_t>(logits.size()));
    std::map<std::int64_t, int> counts;
    for (int step = 0; step < draws; ++step) ++counts[sampler.choose(logits, 0, static_cast<std::uint64_t>(step))];
    return counts;
}

// Every token that may come does, none that may not, and as often as it should: within five standard init_stds.
void expect_distribution(const Scores& logits, const models::SamplerSettings& settings) {
    constexpr int draws = 20000;
    const std::vector<double> expected = defined(logits, settings);
    std::map<std::int64_t, int> counts = drawn(logits, settings, draws);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double mean = expected[i] * draws, deviation = std::sqrt(mean * (1 - expected[i]));
        EXPECT_NEAR(counts[static_cast<std::int64_t>(i)], mean, 5 * deviation + 1e-9) << "token " << i;
    }
}

TEST(Sampler, DrawsEachTokenAsOftenAsItsProbability) {
    const Scores logits = random_scores(23, 5);
    const models::SamplerSettings cases[] = {
        {},
        {.temperature = 0.5},
        {.temperature = 3},
        {.top_k = 4},
        {.temperature = 0.7, .top_k = 9},
        {.top_p = 0.6},
        {.temperature = 2, .top_p = 0.95},
        {.min_p = 0.2},
        {.typical_p = 0.4},
        {.temperature = 1.3, .top_k = 12, .top_p = 0.8, .min_p = 0.15, .typical_p = 0.9},
        {.top_p = 1e-6},
        {.typical_p = 1e-6},
        {.min_p = 1},
        {.top_k = 1000},
    };
    int number = 0;
    for (models::SamplerSettings settings : cases) {
        SCOPED_TRACE(number++);
        settings.do_sample = true;
        settings.seed = 77;
        expect_distribution(logits, settings);
    }
}

TEST(Sampler, KeepsExactlyTheDefinedTokensOfALargeVocabulary) {
    for (const std::uint64_t seed : {1, 2, 3}) {
        const Scores logits = random_scores(5000, seed, 16);
        for (const models::SamplerSettings& settings : {models::SamplerSettings{.do_sample = true, .top_k = 40},
                                                        models::SamplerSettings{.do_sample = true, .top_p = 0.3},
                                                        models::SamplerSettings{.do_sample = true, .min_p = 0.5},
                                                        models::SamplerSettings{.do_sample = true, .typical_p = 0.1}}) {
            const std::vector<double> expected = defined(logits, settings);
            std::set<std::int64_t> allowed, seen;
            for (std::size_t i = 0; i < expected.size(); ++i)
                if (expected[i] > 0) allowed.insert(static_cast<std::int64_t>(i));
            for (const auto& [id, count] : drawn(logits, settings, 300)) seen.insert(id);
            for (const std::int64_t id : seen) EXPECT_TRUE(allowed.contains(id)) << id;
            EXPECT_GT(seen.size() * 4, std::min<std::size_t>(allowed.size(), 40));
        }
    }
}

TEST(Sampler, KeepsTokensThatEqualTheLastOfTheHighest) {
    const Scores logits{1, 3, 3, 3, 0};
    const auto counts = drawn(logits, {.do_sample = true, .top_k = 2}, 500);
    EXPECT_EQ(counts.size(), 3u);
    EXPECT_FALSE(counts.contains(0) || counts.contains(4));
}

TEST(Sampler, IsGreedyUnlessAskedAndAtTemperatureZero) {
    const Scores logits{1, 5, 2, 5};
    for (const models::SamplerSettings& settings :
         {models::SamplerSettings{}, models::SamplerSettings{.do_sample = true, .temperature = 0},
          models::SamplerSettings{.do_sample = false, .temperature = 2}}) {
        const auto counts = drawn(logits, settings, 20);
        EXPECT_EQ(counts.size(), 1u);
        EXPECT_TRUE(counts.contains(1));  // the first of equals
    }
    EXPECT_TRUE(drawn(random_scores(50, 3), {.do_sample = true, .temperature = 1e-9}, 20).size() == 1);
}

TEST(Sampler, ASeedRowAndStepGiveTheSameTokenAtAnyThreadCount) {
    const Scores logits = random_scores(1000, 9);
    std::vector<std::int64_t> first;
    for (const int threads : {1, 2}) {
        set_thread_count(threads);
        Sampler sampler({.do_sample = true, .top_p = 0.9, .seed = 42}, 1000);
        std::vector<std::int64_t> ids;
        for (std::uint64_t row = 0; row < 4; ++row)
            for (std::uint64_t step = 0; step < 20; ++step) ids.push_back(sampler.choose(logits, row, step));
        if (first.empty()) first = ids;
        EXPECT_EQ(ids, first);
    }
    EXPECT_GT(std::set<std::int64_t>(first.begin(), first.end()).size(), 30u);
    Sampler other({.do_sample = true, .top_p = 0.9, .seed = 43}, 1000);
    int same = 0;
    for (std::uint64_t step = 0; step < 20; ++step) same += other.choose(logits, 0, step) == first[step];
    EXPECT_LT(same, 5);
}

TEST(Sampler, SurvivesInfinitiesAndRefusesNan) {
    Scores logits(100, -INFINITY);
    logits[7] = -3;
    for (const models::SamplerSettings& settings :
         {models::SamplerSettings{.do_sample = true}, models::SamplerSettings{.do_sample = true, .top_k = 5},
          models::SamplerSettings{.do_sample = true, .top_p = 0.5},
          models::SamplerSettings{.do_sample = true, .typical_p = 0.5}})
        EXPECT_EQ(drawn(logits, settings, 5).begin()->first, 7);
    logits[9] = INFINITY;
    EXPECT_EQ(drawn(logits, {.do_sample = true}, 5).begin()->first, 9);
    logits[50] = NAN;
    testing::expect_error([&] { drawn(logits, {.do_sample = true}, 1); }, {"NaN"});
    testing::expect_error([&] { drawn(Scores(5, -INFINITY), {}, 1); }, {"no token is left"});
}

TEST(Sampler, RefusesSettingsOutsideTheirRange) {
    const auto refuse = [](const models::SamplerSettings& settings, const char* name) {
        testing::expect_error([&] { Sampler(settings, 10); }, {name});
    };
    refuse({.temperature = -1}, "temperature");
    refuse({.temperature = NAN}, "temperature");
    refuse({.top_k = -1}, "top_k");
    refuse({.top_p = 0}, "top_p");
    refuse({.top_p = 1.5}, "top_p");
    refuse({.min_p = -0.1}, "min_p");
    refuse({.typical_p = 2}, "typical_p");
}

TEST(LogProbabilities, AreThoseOfTheWholeDistribution) {
    const Scores logits = random_scores(700, 4, 20);
    const std::vector<double> p = softmax({logits.begin(), logits.end()});
    LogProbabilities log_probabilities(5, 700);
    log_probabilities.read(logits);
    ASSERT_EQ(log_probabilities.top().size(), 5u);
    std::vector<double> falling = p;
    std::sort(falling.rbegin(), falling.rend());
    for (std::size_t i = 0; i < 5; ++i) {
        const TokenProbability& top = log_probabilities.top()[i];
        EXPECT_NEAR(top.log_probability, std::log(falling[i]), 1e-5);
        EXPECT_NEAR(top.log_probability, std::log(p[static_cast<std::size_t>(top.id)]), 1e-5);
    }
    for (std::size_t i = 0; i < p.size(); i += 31)
        EXPECT_NEAR(log_probabilities.of(static_cast<std::int64_t>(i)), std::log(p[i]), 1e-5);
    LogProbabilities all(1000, 700);
    all.read(logits);
    EXPECT_EQ(all.top().size(), 700u);
}

}  // namespace
}  // namespace tessera::inference
