// What `tessera inspect` says, against figures of the papers.
#include "tessera/models/summary.h"

#include <gtest/gtest.h>

#include "tessera/models/catalog.h"

namespace tessera::models {
namespace {

Summary summary_of(const char* preset) { return summarise(*build(config_named(preset))); }

TEST(Summary, ActiveParametersOfExperts) {
    EXPECT_NEAR(summary_of("mixtral-8x7b").active_parameters / 1e9, 12.9, 0.05);  // Jiang et al. 2024: 13B active
    EXPECT_NEAR(summary_of("deepseek-v2").active_parameters / 1e9, 21, 0.5);      // 2024: 21B activated
    EXPECT_EQ(summary_of("llama-2-7b").active_parameters, summary_of("llama-2-7b").parameters);
}

TEST(Summary, CacheOfHeadsGroupsOneAndLatent) {
    const Summary mha = summary_of("llama-2-7b"), gqa = summary_of("llama-2-70b"), mqa = summary_of("palm-8b");
    EXPECT_EQ(mha.cache_per_token, 2 * 32 * 4096);
    EXPECT_EQ(mha.cache_per_token, mha.full_cache_per_token);
    EXPECT_EQ(gqa.full_cache_per_token, 8 * gqa.cache_per_token);
    EXPECT_EQ(mqa.full_cache_per_token, 16 * mqa.cache_per_token);
    EXPECT_EQ(summary_of("deepseek-v2").cache_per_token, 60 * (512 + 64));
    EXPECT_EQ(summary_of("mistral-7b").window, 4096);
    EXPECT_EQ(mha.window, 0);
    EXPECT_FALSE(summary_of("bert-base").generates);
    EXPECT_TRUE(summary_of("t5-small").generates);
}

TEST(Summary, OperationsAreTwicePerMatrixParameter) {
    const Summary s = summary_of("llama-2-7b");  // all matrices but the input embedding
    EXPECT_NEAR(s.matrix_operations, 2 * (6738415616.0 - 32000.0 * 4096), 2e6);
    EXPECT_EQ(s.operations_per_context_token, 32 * 4.0 * 4096);
}

TEST(Summary, PartsAddUp) {
    for (const char* preset :
         {"gpt2", "mixtral-8x7b", "deepseek-v2-lite", "t5-base", "vit-base-patch16", "paligemma-3b-224"}) {
        const Summary s = summary_of(preset);
        std::int64_t total = 0;
        for (const Part& part : s.parts) total += part.parameters;
        EXPECT_EQ(total, s.parameters) << preset;
        EXPECT_EQ(total, nn::parameter_count(*build(config_named(preset)))) << preset;
    }
}

TEST(Summary, DrawsOneBlockOfEachKind) {
    const auto blocks = [](const char* preset) {
        const std::string drawing = draw_blocks(*build(config_named(preset)));
        std::size_t count = 0;
        for (std::size_t at = 0; (at = drawing.find("⊕", at)) != std::string::npos; ++at) ++count;
        return count;
    };
    EXPECT_EQ(blocks("llama-2-7b"), 2u);
    EXPECT_EQ(blocks("palm-8b"), 1u);           // both parts hang on one branch
    EXPECT_EQ(blocks("deepseek-v2-lite"), 4u);  // the dense first layer, and those with experts
    EXPECT_EQ(blocks("t5-small"), 2u + 3u);     // encoder and decoder
}

}  // namespace
}  // namespace tessera::models
