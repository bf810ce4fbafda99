// What the caches of the last text spare the next prompt, and that it changes nothing.
#include "tessera/inference/prefix_cache.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "tessera/models/catalog.h"

namespace tessera::inference {
namespace {

using testing::golden_path;

TEST(PrefixCache, AnswersAsAFreshGenerationAndReadsOnlyWhatIsNew) {
    for (const char* name : {"llama", "gpt2", "mistral-w5", "deepseek-v2"}) {
        SCOPED_TRACE(name);
        const auto model = models::load(golden_path(name));
        const GenerateOptions options{.max_new_tokens = 5};
        PrefixCache cache(*model);
        std::vector<std::int64_t> text{5, 17, 42};
        for (int turn = 0; turn < 4; ++turn) {
            const models::Batch prompt = batch_of({text});
            const auto answer = cache.generate(text, options).tokens[0];
            EXPECT_EQ(answer, generate(*model, prompt, options).tokens[0]);
            // All but what was chosen last and what came since; at the end, two tokens, unless the ring has gone round.
            const std::int64_t known = std::string(name) == "mistral-w5" ? 0 : 2;
            const auto since = static_cast<std::int64_t>(text.size()) - 4;
            EXPECT_EQ(cache.reused(), turn == 0 ? 0 : turn == 3 ? known : since);
            text.insert(text.end(), answer.begin(), answer.end());
            text.insert(text.end(), {3, static_cast<std::int64_t>(7 + turn), 60});
            if (turn == 2) text = {5, 17, 43, 44};  // begins again, but for two tokens
        }
        testing::expect_error([&] { cache.generate({}, options); }, {"at least one token"});
    }
}

// Keys turned while the text was shorter would be wrong for the longer one.
TEST(PrefixCache, ReadsAllAgainWhereKeysAreTurnedByTheLengthOfTheText) {
    for (const char* name : {"long/llama-dynamic", "long/llama-dynamic-old"}) {
        SCOPED_TRACE(name);
        const auto model = models::load(golden_path(name));
        std::vector<std::int64_t> text(250);
        for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::int64_t>(3 + i * i % 40);
        PrefixCache cache(*model);
        for (int turn = 0; turn < 3; ++turn) {
            const models::Batch prompt = batch_of({text});
            const auto answer = cache.generate(text, {.max_new_tokens = 20}).tokens[0];
            EXPECT_EQ(answer, generate(*model, prompt, {.max_new_tokens = 20}).tokens[0]);
            text.insert(text.end(), answer.begin(), answer.end());
            text.push_back(5);
        }
    }
}

TEST(PrefixCache, ReadsPromptsInChunksOfAnySize) {
    const auto model = models::load(golden_path("llama"));
    std::vector<std::int64_t> text{5, 17, 42};
    for (std::int64_t i = 0; i < 40; ++i) text.push_back(7 + i % 9);
    const auto longer = [&] {
        std::vector<std::int64_t> ids = text;
        for (std::int64_t i = 0; i < 30; ++i) ids.push_back(3 + i % 11);
        return ids;
    }();
    const auto expected = generate(*model, batch_of({longer}), {.max_new_tokens = 5}).tokens[0];
    for (const std::int64_t chunk : {0, 1, 7, 1000}) {
        SCOPED_TRACE(chunk);
        PrefixCache cache(*model);
        std::int64_t told = 0;
        const GenerateOptions options{
            .max_new_tokens = 5, .prefill_chunk = chunk, .on_prefill = [&](std::int64_t done, std::int64_t total) {
                EXPECT_LT(done, total);
                ++told;
            }};
        cache.generate(text, options);
        told = 0;
        EXPECT_EQ(cache.generate(longer, options).tokens[0], expected);
        EXPECT_EQ(cache.reused(), 43);
        EXPECT_EQ(told, chunk == 1 ? 29 : chunk == 7 ? 4 : 0);
    }
}

}  // namespace
}  // namespace tessera::inference
