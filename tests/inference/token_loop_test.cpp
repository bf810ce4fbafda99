#include "tessera/inference/token_loop.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/op_case.h"
#include "tessera/models/catalog.h"
#include "tessera/ops/reduce.h"
#include "tessera/ops/softmax.h"

namespace tessera::inference {
namespace {

using testing::golden_path;

TEST(TokenLoop, EndsWhereTheLearnedPositionsEnd) {
    const auto model = models::load(golden_path("gpt2"));  // 64 positions
    const auto tokens = [&](std::int64_t prompt, std::int64_t most) {
        const std::vector<std::int64_t> ids(static_cast<std::size_t>(prompt), 5);
        return generate(*model, batch_of({ids}), {.max_new_tokens = most}).tokens[0].size();
    };
    EXPECT_EQ(tokens(2, 100), 63u);  // 62 of them were fed back, after the prompt's two
    EXPECT_EQ(tokens(64, 100), 1u);
    EXPECT_EQ(tokens(2, 63), 63u);
    EXPECT_EQ(tokens(2, 62), 62u);
    testing::expect_error([&] { tokens(65, 1); }, {"input_ids", "65", "64"});
}

TEST(TokenLoop, StopsARowAtItsStopIdAndGoesOnWithTheOthers) {
    const auto model = models::load(golden_path("llama"));
    const std::vector<std::vector<std::int64_t>> prompts{{5, 17, 42}, {7}};
    const auto whole = generate(*model, batch_of(prompts), {.max_new_tokens = 8}).tokens;
    const std::int64_t stop = whole[0][2];
    const auto stopped = generate(*model, batch_of(prompts), {.max_new_tokens = 8, .stop_ids = {stop}}).tokens;
    EXPECT_EQ(stopped[0], std::vector<std::int64_t>(whole[0].begin(), whole[0].begin() + 3));
    for (std::size_t i = 0; i < stopped[1].size(); ++i) EXPECT_EQ(stopped[1][i], whole[1][i]);
    EXPECT_EQ(stopped[1].size() == 8 || stopped[1].back() == stop, true);
}

TEST(TokenLoop, TellsEachTokenAndEndsWhenAsked) {
    const auto model = models::load(golden_path("llama"));
    std::vector<std::int64_t> told;
    const auto generated = generate(*model, batch_of({{5, 17}}), {.max_new_tokens = 8}, [&](const NewToken& token) {
        EXPECT_EQ(token.row, 0u);
        told.push_back(token.id);
        return told.size() < 3;
    });
    EXPECT_EQ(told.size(), 3u);
    EXPECT_EQ(generated.tokens[0], told);
    testing::expect_error([] { batch_of({{1}, {}}); }, {"at least one token"});
}

TEST(TokenLoop, ReadsAPromptInChunksAsAtOnce) {
    for (const char* name : {"llama", "mistral-w5", "gemma3-text", "deepseek-v2", "gpt2", "mixtral", "falcon-rw"}) {
        SCOPED_TRACE(name);
        const auto model = models::load(golden_path(name));
        std::vector<std::vector<std::int64_t>> prompts(2);
        for (std::int64_t i = 0; i < 23; ++i) prompts[0].push_back((i * 37 + 5) % 90);
        prompts[1] = {3, 50, 7, 9};  // all of the first chunks is padding
        const models::Batch batch = batch_of(prompts);
        const auto whole = model->decode(40);
        whole->prefill_chunk = 0;
        const Tensor expected = whole->prefill(batch);
        for (const std::int64_t chunk : {1, 4, 22, 23, 100}) {
            const auto session = model->decode(40);
            session->prefill_chunk = chunk;
            EXPECT_LE(testing::relative_error(session->prefill(batch), expected), 2e-5) << chunk;
        }
        const GenerateOptions at_once{.max_new_tokens = 8, .prefill_chunk = 0};
        EXPECT_EQ(generate(*model, batch, {.max_new_tokens = 8, .prefill_chunk = 5}).tokens,
                  generate(*model, batch, at_once).tokens);
    }
}

TEST(TokenLoop, SampledRowsDoNotKnowOfEachOther) {
    const auto model = models::load(golden_path("llama"));
    const GenerateOptions options{.max_new_tokens = 12, .sampler = {.do_sample = true, .temperature = 2, .seed = 5}};
    const std::vector<std::int64_t> prompt{5, 17, 42};
    const auto three = generate(*model, batch_of({prompt, prompt, prompt}), options).tokens;
    EXPECT_NE(three[0], three[1]);
    EXPECT_NE(three[1], three[2]);
    EXPECT_EQ(generate(*model, batch_of({prompt}), options).tokens[0], three[0]);
    EXPECT_EQ(generate(*model, batch_of({prompt, {1, 2, 3, 4, 5, 6}, prompt}), options).tokens[2], three[2]);
    // A row that ends early leaves; the others go on as if it had stayed.
    GenerateOptions stopped = options;
    stopped.stop_ids = {three[0][1], three[1][2]};
    const auto fewer = generate(*model, batch_of({prompt, prompt, prompt}), stopped);
    for (std::size_t row = 0; row < 3; ++row) {
        const auto is_stop = [&](std::int64_t id) { return id == stopped.stop_ids[0] || id == stopped.stop_ids[1]; };
        const auto end = std::find_if(three[row].begin(), three[row].end(), is_stop);
        const auto expected = end == three[row].end() ? end : end + 1;
        EXPECT_EQ(fewer.tokens[row], std::vector<std::int64_t>(three[row].begin(), expected)) << row;
        EXPECT_EQ(fewer.endings[row], end == three[row].end() ? Ending::Length : Ending::StopId);
    }
}

TEST(TokenLoop, TellsTheLogProbabilitiesOfTheModelItself) {
    const auto model = models::load(golden_path("llama"));
    const models::Batch prompt = batch_of({{5, 17, 42}});
    const Tensor logits = ops::log_softmax(model->decode(3)->prefill(prompt));
    const auto best = ops::top_k(logits, 3);
    const GenerateOptions options{.max_new_tokens = 1,
                                  .sampler = {.do_sample = true, .temperature = 0.3, .top_k = 2},
                                  .rules = {.logit_bias = {{7, 100}}},
                                  .log_probabilities = 3};
    int told = 0;
    generate(*model, prompt, options, [&](const NewToken& token) {
        ++told;
        EXPECT_EQ(token.id, 7);
        EXPECT_NEAR(token.log_probability, logits.to_vector<double>()[7], 1e-5);
        EXPECT_EQ(token.most.size(), 3u);
        for (std::size_t i = 0; i < 3; ++i) {
            EXPECT_EQ(token.most[i].id, best.indices.to_vector<std::int64_t>()[i]);
            EXPECT_NEAR(token.most[i].log_probability, best.values.to_vector<double>()[i], 1e-5);
        }
        return true;
    });
    EXPECT_EQ(told, 1);
}

TEST(TokenLoop, GoesOnFromACommonBeginning) {
    for (const char* name : {"llama", "deepseek-v2", "gpt2", "mistral-w5", "phi3-longrope-short"}) {
        SCOPED_TRACE(name);
        const auto model = models::load(golden_path(name));
        const std::vector<std::int64_t> shared{5, 17, 42, 9, 3, 8, 30};
        const auto with = [&](std::vector<std::int64_t> more) {
            std::vector<std::int64_t> ids = shared;
            ids.insert(ids.end(), more.begin(), more.end());
            return ids;
        };
        const auto session = model->decode(64);
        session->prefill(batch_of({with({60, 61, 62})}));
        const Tensor expected = model->decode(64)->prefill(batch_of({with({70, 71})}));
        const bool kept = session->truncate(static_cast<std::int64_t>(shared.size()));
        EXPECT_EQ(kept, std::string(name) != "mistral-w5");  // its ring has gone round
        if (!kept) continue;
        EXPECT_LE(testing::relative_error(session->step(Tensor::from<std::int64_t>({70, 71}, {1, 2})), expected), 2e-5);
    }
}

TEST(TokenLoop, MemoryFollowsTheTextAndNotTheLimit) {
    const auto model = models::load(golden_path("llama"));
    const auto small = generate(*model, batch_of({{5, 17}}), {.max_new_tokens = 10});
    int count = 0;
    const auto large = generate(*model, batch_of({{5, 17}}), {.max_new_tokens = std::int64_t{1} << 28},
                                [&](const NewToken&) { return ++count < 10; });
    EXPECT_EQ(large.tokens, small.tokens);
    EXPECT_EQ(large.cache_bytes, small.cache_bytes);
}

}  // namespace
}  // namespace tessera::inference
