// A decode step takes nothing from the system: neither the caching allocator nor operator new is asked for more.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "core/memory.h"
#include "inference/generator.h"
#include "models/catalog.h"
#include "support/goldens.h"

#ifndef __SANITIZE_ADDRESS__  // which has an operator new of its own, and frees for real

namespace {
std::atomic<std::int64_t> news{0};
}

void* operator new(std::size_t bytes) {
    ++news;
    if (void* data = std::malloc(bytes)) return data;
    throw std::bad_alloc();
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }

namespace tessera::inference {
namespace {

struct Taken {
    std::int64_t news, from_system;
};

// By `steps` decode steps after a warm-up.
Taken taken(const char* name, std::int64_t rows, const GenerateOptions& given, std::int64_t steps = 30) {
    const auto model = models::load(testing::golden_path(name));
    std::vector<std::vector<std::int64_t>> prompts(static_cast<std::size_t>(rows), {5, 17, 42});
    if (rows > 1) prompts[0] = {7};  // padded
    constexpr std::int64_t warm_up = 10;
    GenerateOptions options = given;
    options.max_new_tokens = warm_up + steps + 1;
    std::int64_t step = 0, news_before = 0, system_before = 0;
    Taken out{};
    generate(*model, batch_of(prompts), options, [&](const NewToken& token) {
        if (token.row != 0) return true;
        if (step == warm_up) {
            news_before = news;
            system_before = memory_stats(cpu).system_allocations;
        }
        if (step == warm_up + steps) out = {news - news_before, memory_stats(cpu).system_allocations - system_before};
        ++step;
        return true;
    });
    EXPECT_EQ(step, options.max_new_tokens);
    return out;
}

TEST(Allocation, DecodingAllocatesNothingAfterWarmUp) {
    const GenerateOptions greedy, sampled{.sampler = {.do_sample = true, .temperature = 1.5, .top_p = 0.9}},
        everything{.sampler = {.do_sample = true, .top_k = 20, .min_p = 0.01, .typical_p = 0.9},
                   .rules = {.repetition_penalty = 1.2, .presence_penalty = 0.5, .no_repeat_ngram = 4},
                   .log_probabilities = 5};
    for (const char* name : {"llama", "llama-gqa", "gpt2", "qwen2", "gemma"})
        for (const std::int64_t rows : {1, 3})
            for (const GenerateOptions* options : {&greedy, &sampled, &everything}) {
                SCOPED_TRACE(::testing::Message() << name << ", " << rows << " rows");
                const Taken out = taken(name, rows, *options);
                EXPECT_EQ(out.news, 0);
                EXPECT_EQ(out.from_system, 0);
            }
}

TEST(Allocation, NoDecoderAsksTheSystemForTensors) {
    for (const char* name : {"mistral-w5", "deepseek-v2", "mixtral", "falcon-7b-style", "gemma3-text", "bart"}) {
        SCOPED_TRACE(name);
        EXPECT_EQ(taken(name, 2, {}, 12).from_system, 0);
    }
}

}  // namespace
}  // namespace tessera::inference

#endif
