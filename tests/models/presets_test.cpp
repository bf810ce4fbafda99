// The presets have as many parameters as was published of them. Built without memory for weights.
#include "tessera/models/presets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tessera/core/memory.h"
#include "tessera/models/catalog.h"

namespace tessera::models {
namespace {

struct Published {
    const char* preset;
    double parameters;
    double unit;  // of the last published digit; 1 where the figure is exact
    const char* source;
};

const Published published[] = {
    {"gpt2", 124439808, 1, "the reference's count of the Hub's openai-community/gpt2"},
    {"gpt2-medium", 354823168, 1, "the reference's count of gpt2-medium"},
    {"gpt2-large", 774030080, 1, "the reference's count of gpt2-large"},
    {"gpt2-xl", 1557611200, 1, "the reference's count of gpt2-xl"},
    {"bert-base", 110e6, 1e6, "Devlin et al. 2018, section 3: 110M"},
    {"bert-large", 340e6, 10e6, "Devlin et al. 2018, section 3: 340M"},
    {"t5-small", 60506624, 1, "the reference's count of t5-small; Raffel et al. 2020, 3.1.1: 60 million"},
    {"t5-base", 222903552, 1, "the reference's count of t5-base; Raffel et al.: 220 million"},
    {"t5-large", 737668096, 1, "the reference's count of t5-large; Raffel et al.: 770 million"},
    {"t5-3b", 2851598336, 1, "the reference's count of t5-3b; Raffel et al.: 2.8 billion"},
    {"t5-11b", 11307321344, 1, "the reference's count of t5-11b; Raffel et al.: 11 billion"},
    {"vit-base-patch16", 86e6, 1e6, "Dosovitskiy et al. 2020, table 1: 86M"},
    {"vit-large-patch16", 304326632, 1, "the reference's count of google/vit-large-patch16-224"},
    {"vit-huge-patch14", 632e6, 1e6, "Dosovitskiy et al. 2020, table 1: 632M"},
    {"vit-giant-patch14", 1011e6, 1e6, "Zhai et al. 2021 (Scaling Vision Transformers), table 2: 1011M"},
    {"vit-gigantic-patch14", 1843e6, 1e6, "Zhai et al. 2021, table 2: 1843M"},
    {"siglip-so400m-patch14-384", 878e6, 1e6, "the Hub's google/siglip-so400m-patch14-384: 878M"},
    {"llama-7b", 6.7e9, 0.1e9, "Touvron et al. 2023a, table 2: 6.7B"},
    {"llama-13b", 13.0e9, 0.1e9, "Touvron et al. 2023a, table 2: 13.0B"},
    {"llama-33b", 32.5e9, 0.1e9, "Touvron et al. 2023a, table 2: 32.5B"},
    {"llama-65b", 65.2e9, 0.1e9, "Touvron et al. 2023a, table 2: 65.2B"},
    {"llama-2-7b", 6738415616, 1, "the reference's count of meta-llama/Llama-2-7b-hf"},
    {"llama-2-13b", 13015864320, 1, "the reference's count of meta-llama/Llama-2-13b-hf"},
    {"llama-2-70b", 68976648192, 1, "the reference's count of meta-llama/Llama-2-70b-hf"},
    {"llama-3-8b", 8030261248, 1, "the reference's count of meta-llama/Meta-Llama-3-8B"},
    {"llama-3-70b", 70553706496, 1, "the reference's count of meta-llama/Meta-Llama-3-70B"},
    {"palm-8b", 8.63e9, 0.01e9, "Chowdhery et al. 2022, table 1: 8.63B"},
    {"palm-62b", 62.50e9, 0.01e9, "Chowdhery et al. 2022, table 1: 62.50B"},
    {"palm-540b", 540.35e9, 0.01e9, "Chowdhery et al. 2022, table 1: 540.35B"},
    {"falcon-7b", 6921720704, 1, "the reference's count of tiiuae/falcon-7b, whose output head is tied"},
    {"falcon-40b", 41.8e9 - 65024.0 * 8192, 0.1e9,
     "the Hub's tiiuae/falcon-40b: 41.8B, with the tied head stored again"},
    {"falcon-180b", 180e9 - 65024.0 * 14848, 1e9,
     "the Hub's tiiuae/falcon-180B: 180B, with the tied head stored again"},
    {"mistral-7b", 7241732096, 1, "the reference's count of mistralai/Mistral-7B-v0.1"},
    {"mixtral-8x7b", 46702792704, 1, "the reference's count of mistralai/Mixtral-8x7B-v0.1"},
    {"gemma-2b", 2506172416, 1, "the reference's count of google/gemma-2b"},
    {"gemma-7b", 8537680896, 1, "the reference's count of google/gemma-7b"},
    {"paligemma-3b-224", 2.92e9, 0.01e9, "the Hub's google/paligemma-3b-pt-224: 2.92B"},
    {"paligemma-3b-448", 2.92e9, 0.01e9, "the Hub's google/paligemma-3b-pt-448: 2.92B"},
    {"paligemma-3b-896", 2.93e9, 0.01e9, "the Hub's google/paligemma-3b-pt-896: 2.93B"},
    {"deepseek-v2", 236e9, 1e9, "DeepSeek-V2, 2024, abstract: 236B"},
    {"deepseek-v2-lite", 15.7e9, 0.1e9, "DeepSeek-V2, 2024, appendix B: 15.7B"},
};

TEST(Presets, HaveThePublishedNumberOfParameters) {
    const std::int64_t before = memory_stats(cpu).peak_bytes;
    std::set<std::string> covered;
    for (const auto& [preset, parameters, unit, source] : published) {
        covered.insert(preset);
        const auto count = static_cast<double>(nn::parameter_count(*build(config_named(preset))));
        EXPECT_LE(std::fabs(count - parameters), unit == 1 ? 0 : unit) << preset << ": " << source;
    }
    for (const Preset& preset : presets()) EXPECT_TRUE(covered.contains(preset.name)) << preset.name;
    EXPECT_LE(memory_stats(cpu).peak_bytes - before, 16 << 20) << "a model was given memory";
}

}  // namespace
}  // namespace tessera::models
