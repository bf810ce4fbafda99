// Translations, what each of their words looked at, and how good they are.
#include "tessera/inference/translation_alignment.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temporary_folder.h"
#include "support/tiny_text_model.h"
#include "tessera/evaluation/translation_score.h"
#include "tessera/inference/generator.h"

namespace tessera::inference {
namespace {

using testing::expect_error;

const char* const recurrent = R"({"model_type": "bahdanau", "hidden_width": 12, "embedding_width": 8,
    "decoder_start_token_id": 1, "eos_token_id": 2, "initializer_range": 0.5})";
const char* const transformer = R"({"model_type": "marian", "d_model": 12, "encoder_layers": 1, "decoder_layers": 2,
    "encoder_attention_heads": 2, "decoder_attention_heads": 3, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16,
    "pad_token_id": 3, "decoder_start_token_id": 3, "eos_token_id": 2, "initializer_range": 0.5})";

models::OpenedModel tiny(const char* config, const std::string& tokenizer = "sentencepiece-unigram") {
    models::OpenedModel model = testing::tiny_text_model(config, tokenizer);
    model.settings = models::read_generation_settings({}, model.config);
    return model;
}

std::vector<GeneratedText> translate(const models::OpenedModel& model, const models::GenerationSettings& settings,
                                     std::vector<Prompt> prompts) {
    return Generator(model).generate({.prompts = std::move(prompts), .settings = settings}).texts;
}

TEST(Translator, ABatchIsItsTextsAndBeamsAreForBoth) {
    for (const char* config : {recurrent, transformer}) {
        const models::OpenedModel model = tiny(config);
        models::GenerationSettings settings = model.settings;
        settings.max_new_tokens = 6;
        for (const std::int64_t beams : {1, 2}) {
            settings.beams.count = beams;
            const std::vector<Prompt> prompts{{.text = "the small house"}, {.text = "hello"}};
            const std::vector<GeneratedText> both = translate(model, settings, prompts);
            ASSERT_EQ(both.size(), 2u);
            for (std::size_t i = 0; i < 2; ++i)
                EXPECT_EQ(both[i].tokens, translate(model, settings, {prompts[i]})[0].tokens);
        }
    }
}

TEST(Translator, AnAlignmentGivesEveryWordAShareOfEveryWord) {
    for (const char* config : {recurrent, transformer}) {
        const models::OpenedModel model = tiny(config);
        const Prompt prompt{.text = "the small house"};
        const auto translation = model.text().encode("das kleine Haus", false);
        const Alignment alignment = align(model, prompt, translation);
        EXPECT_EQ(alignment.target.size() * alignment.source.size(), alignment.weights.size());
        EXPECT_EQ(alignment.source, (std::vector<std::string>{"<s>", "the", "small", "house"}));
        EXPECT_EQ(alignment.target, (std::vector<std::string>{"das", "kleine", "Haus"}));
        for (std::size_t row = 0; row < alignment.target.size(); ++row) {
            double sum = 0;
            for (std::size_t i = 0; i < alignment.source.size(); ++i)
                sum += alignment.weights[row * alignment.source.size() + i];
            EXPECT_NEAR(sum, 1, 1e-5);
        }
        const std::string svg = alignment_svg(alignment);
        EXPECT_NE(svg.find(">small</text>"), svg.npos);
        EXPECT_NE(svg.find(">kleine</text>"), svg.npos);
        expect_error([&] { align(model, prompt, {}); }, {"empty translation"});
    }
}

TEST(TranslationScore, ItsOwnTranslationsAreWorthAHundred) {
    const models::OpenedModel model = tiny(transformer);
    models::GenerationSettings settings = model.settings;
    settings.max_new_tokens = 8;
    const testing::TemporaryFolder folder;
    std::string own, other;
    for (const char* text : {"the house", "a much longer text than that", "hello"}) {
        std::string answer = translate(model, settings, {{.text = text}})[0].text;
        std::replace(answer.begin(), answer.end(), '\n', ' ');
        std::replace(answer.begin(), answer.end(), '\t', ' ');
        own += text_of(text, "\t", answer, " x x x x\n");
        other += text_of(text, "\tq w e r t\n");
    }
    std::vector<std::int64_t> done;
    evaluation::TranslationScoreOptions options{.batch = 2};
    options.on_progress = [&](std::int64_t now, std::int64_t) { done.push_back(now); };
    const evaluation::Bleu good =
        evaluation::translation_score(model, settings, data::TextPairs({folder.write("a.tsv", own)}), options);
    EXPECT_EQ(good.precisions()[0], 100);
    EXPECT_LT(good.brevity_penalty(), 1);
    EXPECT_EQ(done, (std::vector<std::int64_t>{2, 3}));
    EXPECT_LT(evaluation::translation_score(model, settings, data::TextPairs({folder.write("b.tsv", other)})).score(),
              5);
}

}  // namespace
}  // namespace tessera::inference
