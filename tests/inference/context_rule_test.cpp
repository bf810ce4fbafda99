// Where texts end for want of context: alone, side by side, with beams, beside an encoder; and how they go on without
// it.
#include "tessera/inference/context_rule.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "tessera/inference/beam_search.h"
#include "tessera/inference/prefix_cache.h"
#include "tessera/inference/token_loop.h"
#include "tessera/models/catalog.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::inference {
namespace {

using testing::golden_path;
using Ids = std::vector<std::int64_t>;

Ids prompt_of(std::int64_t count, std::int64_t first = 5) {
    Ids ids;
    for (std::int64_t i = 0; i < count; ++i) ids.push_back(first + (7 * i) % 50);
    return ids;
}

// The most probable token after a text that is read whole.
std::int64_t next_token(const models::Model& model, const Ids& ids) {
    const NoGrad no_grad;
    const Tensor scores = model.forward({.input_ids = Tensor::from(ids, {1, static_cast<std::int64_t>(ids.size())})});
    return ops::argmax(ops::select(scores, 1, scores.size(1) - 1), -1, false).to_vector<std::int64_t>()[0];
}

TEST(ContextRule, ATextEndsWhereTheModelsContextDoes) {
    for (const char* name : {"llama-yarn", "gpt2", "falcon-rw", "mistral-w5", "neox-serial"}) {  // 64 tokens each
        SCOPED_TRACE(name);
        const auto model = models::load(golden_path(name));
        const auto run = [&](std::int64_t prompt, std::int64_t most, const ContextRule& rule = {}) {
            return generate(*model, batch_of({prompt_of(prompt)}), {.max_new_tokens = most, .context = rule});
        };
        const Generated whole = run(10, 1000);
        EXPECT_EQ(whole.tokens[0].size(), 55u);  // the last of them is not read
        EXPECT_EQ(whole.endings[0], Ending::Context);
        EXPECT_EQ(run(10, 55).endings[0], Ending::Length);
        EXPECT_EQ(run(64, 9).tokens[0].size(), 1u);
        const Generated fewer = run(10, 1000, {.tokens = 20});
        EXPECT_EQ(fewer.tokens[0], Ids(whole.tokens[0].begin(), whole.tokens[0].begin() + 11));
        EXPECT_EQ(fewer.endings[0], Ending::Context);
        testing::expect_error([&] { run(65, 5); }, {"65 tokens", "context of 64"});
        testing::expect_error([&] { run(21, 5, {.tokens = 20}); }, {"21 tokens", "context of 20"});
        testing::expect_error([&] { run(5, 5, {.tokens = 65}); }, {"65", "64"});
        const ContextRule beyond{.end = AtContext::GoOn};
        if (std::string(name) == "gpt2") {  // its positions end
            EXPECT_EQ(run(10, 1000, beyond).endings[0], Ending::Context);
            testing::expect_error([&] { run(65, 5, beyond); }, {"65 tokens", "context of 64"});
        } else {
            EXPECT_EQ(run(10, 100, beyond).tokens[0].size(), 100u);
            EXPECT_EQ(run(65, 5, beyond).endings[0], Ending::Length);
            EXPECT_EQ(run(10, 1000, {.tokens = 80, .end = AtContext::GoOn}).tokens[0].size(), 71u);
        }
    }
}

TEST(ContextRule, EachRowOfABatchHasAContextOfItsOwn) {
    for (const char* name : {"llama-yarn", "gpt2"}) {
        SCOPED_TRACE(name);
        const auto model = models::load(golden_path(name));
        const std::vector<Ids> prompts{prompt_of(60), prompt_of(3, 9), prompt_of(30, 2), prompt_of(64, 11)};
        const Generated together = generate(*model, batch_of(prompts), {.max_new_tokens = 500});
        const std::size_t expected[] = {5, 62, 35, 1};
        for (std::size_t row = 0; row < prompts.size(); ++row) {
            EXPECT_EQ(together.tokens[row].size(), expected[row]);
            EXPECT_EQ(together.endings[row], Ending::Context);
            EXPECT_EQ(together.tokens[row],
                      generate(*model, batch_of({prompts[row]}), {.max_new_tokens = 500}).tokens[0]);
        }
        // One that has ended otherwise is not read on past its last position.
        const Ids stop{together.tokens[0][1]};
        const Generated stopped =
            generate(*model, batch_of({prompts[0], prompts[1], prompts[2]}), {.max_new_tokens = 500, .stop_ids = stop});
        EXPECT_EQ(stopped.tokens[0].back(), stop[0]);
    }
}

TEST(ContextRule, BeamsEndWithTheContextOfTheirText) {
    const auto model = models::load(golden_path("llama-yarn"));
    const std::vector<Ids> prompts{prompt_of(50), prompt_of(56, 9)};
    const BeamOptions options{.beams = {.count = 3, .length_penalty = 2, .returned = 3}, .max_new_tokens = 500};
    const BeamResult together = beam_search(*model, batch_of(prompts), options);
    for (std::size_t row = 0; row < 2; ++row) {
        const BeamResult alone = beam_search(*model, batch_of({prompts[row]}), options);
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_EQ(together.texts[row][i].tokens.size(), row == 0 ? 15u : 9u);
            EXPECT_TRUE(together.texts[row][i].fills_context);
            EXPECT_EQ(together.texts[row][i].tokens, alone.texts[0][i].tokens);
        }
    }
    BeamOptions enough = options;
    enough.max_new_tokens = 9;
    EXPECT_FALSE(beam_search(*model, batch_of({prompts[1]}), enough).texts[0][0].fills_context);
    enough.context.end = AtContext::Shift;
    testing::expect_error([&] { beam_search(*model, batch_of({prompts[1]}), enough); }, {"beams", "shift"});
}

TEST(ContextRule, BesideAnEncoderTheDecodersTokensCount) {
    const auto model = models::load(golden_path("bart-b"));  // 40 positions
    const models::Batch prompt = batch_of({prompt_of(30)}, 1, Side::Right);
    const Generated whole = generate(*model, prompt, {.max_new_tokens = 500});
    EXPECT_EQ(whole.tokens[0].size(), 40u);
    EXPECT_EQ(whole.endings[0], Ending::Context);
    EXPECT_EQ(generate(*model, prompt, {.max_new_tokens = 500, .context = {.tokens = 12}}).tokens[0].size(), 12u);
    testing::expect_error([&] { generate(*model, prompt, {.context = {.end = AtContext::Shift}}); },
                          {"cannot be shifted"});
    const auto relative = models::load(golden_path("t5"));  // no positions, so no end
    EXPECT_EQ(generate(*relative, prompt, {.max_new_tokens = 300}).endings[0], Ending::Length);
}

// A shift against its definition: what is left of the text is read as if it had always been all of it.
TEST(ContextRule, AShiftForgetsTheOlderHalfBehindTheFirstTokens) {
    for (const char* name : {"llama-yarn", "gpt2", "mistral-w5", "falcon-rw"}) {
        SCOPED_TRACE(name);
        const auto model = models::load(golden_path(name));
        for (const std::int64_t kept : {0, 1, 5}) {
            const std::int64_t context = 20;
            Ids text = prompt_of(12), expected;
            std::int64_t forgotten = 0;
            for (int i = 0; i < 40; ++i) {
                if (static_cast<std::int64_t>(text.size()) > context) {
                    const std::int64_t half = (context - kept) / 2;
                    text.erase(text.begin() + kept, text.begin() + kept + half);
                    forgotten += half;
                }
                expected.push_back(next_token(*model, text));
                text.push_back(expected.back());
            }
            const GenerateOptions options{.max_new_tokens = 40,
                                          .context = {.tokens = context, .end = AtContext::Shift, .kept = kept}};
            const Generated shifted = generate(*model, batch_of({prompt_of(12)}), options);
            EXPECT_EQ(shifted.tokens[0], expected);
            EXPECT_EQ(shifted.endings[0], Ending::Length);
            EXPECT_EQ(shifted.forgotten, forgotten);
            // Beside others that are shifted at other times.
            const auto both = generate(*model, batch_of({prompt_of(17, 3), prompt_of(12)}), options);
            EXPECT_EQ(both.tokens[1], expected);
            EXPECT_EQ(both.tokens[0], generate(*model, batch_of({prompt_of(17, 3)}), options).tokens[0]);
        }
    }
}

TEST(ContextRule, AShiftFitsALongPromptToo) {
    const auto model = models::load(golden_path("llama-yarn"));
    const Ids ids = prompt_of(200);
    const GenerateOptions options{.max_new_tokens = 3, .context = {.end = AtContext::Shift, .kept = 1}};
    const Generated generated = generate(*model, batch_of({ids}), options);
    // 64 − 1 tokens may be forgotten, 31 at a time: 200 − 5 · 31 = 45 are left.
    EXPECT_EQ(generated.forgotten, 155);
    Ids left{ids[0]};
    left.insert(left.end(), ids.begin() + 156, ids.end());
    EXPECT_EQ(generated.tokens[0][0], next_token(*model, left));
    EXPECT_EQ(generated.endings[0], Ending::Length);
    testing::expect_error(
        [&] { generate(*model, batch_of({ids}), {.context = {.tokens = 3, .end = AtContext::Shift, .kept = 2}}); },
        {"context of 3", "first 2"});
}

TEST(ContextRule, HoldsForTextsThatGoOn) {
    const auto model = models::load(golden_path("llama-yarn"));
    PrefixCache cache(*model);
    const Generated answer = cache.generate(prompt_of(50), {.max_new_tokens = 100});
    EXPECT_EQ(answer.tokens[0].size(), 15u);
    EXPECT_EQ(answer.endings[0], Ending::Context);
    testing::expect_error([&] { cache.generate(prompt_of(65), {}); }, {"65 tokens", "context of 64"});
    EXPECT_EQ(cache.generate(prompt_of(50), {.max_new_tokens = 100}).tokens, answer.tokens);
    EXPECT_EQ(cache.generate(prompt_of(65), {.context = {.end = AtContext::GoOn}}).tokens[0].size(), 64u);
}

}  // namespace
}  // namespace tessera::inference
