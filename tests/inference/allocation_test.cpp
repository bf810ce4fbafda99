// A decode step takes nothing from the system: neither the caching allocator nor operator new is asked for more.
#include <gtest/gtest.h>

#include "inference/counted_news.h"
#include "support/golden_folders.h"
#include "tessera/core/memory.h"
#include "tessera/inference/token_loop.h"
#include "tessera/models/catalog.h"

#ifndef __SANITIZE_ADDRESS__  // which has an operator new of its own, and frees for real

namespace tessera::inference {
namespace {

struct Taken {
    std::int64_t news, from_system;
};

// By `steps` decode steps after a warm-up.
Taken taken(const models::Model& model, std::int64_t rows, const GenerateOptions& given, std::int64_t steps = 24) {
    std::vector<std::vector<std::int64_t>> prompts(static_cast<std::size_t>(rows), {5, 17, 42});
    if (rows > 1) prompts[0] = {7};  // padded
    constexpr std::int64_t warm_up = 10;
    GenerateOptions options = given;
    options.max_new_tokens = warm_up + steps + 1;
    std::int64_t step = 0, news_before = 0, system_before = 0;
    Taken out{};
    const Side side = model.has_encoder() ? Side::Right : Side::Left;
    generate(model, batch_of(prompts, 0, side), options, [&](const NewToken& token) {
        if (token.row != 0) return true;
        if (step == warm_up) {
            news_before = testing::news_so_far();
            system_before = memory_stats(cpu).system_allocations;
        }
        if (step == warm_up + steps)
            out = {testing::news_so_far() - news_before, memory_stats(cpu).system_allocations - system_before};
        ++step;
        return true;
    });
    EXPECT_EQ(step, options.max_new_tokens);
    return out;
}

const GenerateOptions greedy, sampled{.sampler = {.do_sample = true, .temperature = 1.5, .top_p = 0.9}},
    everything{.sampler = {.do_sample = true, .top_k = 20, .min_p = 0.01, .typical_p = 0.9},
               .rules = {.repetition_penalty = 1.2, .presence_penalty = 0.5, .no_repeat_ngram = 4},
               .log_probabilities = 5};

// Every model under tests/goldens that generates.
class Allocation : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Allocation, DecodingAllocatesNothingAfterWarmUp) {
    const auto model = models::load(GetParam());
    for (const std::int64_t rows : {1, 3})
        for (const GenerateOptions* options : {&greedy, &sampled, &everything}) {
            SCOPED_TRACE(::testing::Message() << rows << " rows");
            const Taken out = taken(*model, rows, *options);
            EXPECT_EQ(out.news, 0);
            EXPECT_EQ(out.from_system, 0);
        }
}

INSTANTIATE_TEST_SUITE_P(All, Allocation, ::testing::ValuesIn(testing::model_folders("greedy_tokens")),
                         testing::folder_name);

}  // namespace
}  // namespace tessera::inference

#endif
