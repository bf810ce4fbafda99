// The one way from text and images to text: what it streams is what it returns, whatever the settings ask for.
#include "tessera/inference/generator.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/letter_tokenizer.h"
#include "support/tiny_text_model.h"
#include "tessera/core/device.h"
#include "tessera/inference/beam_search.h"
#include "tessera/nn/module.h"

namespace tessera::inference {
namespace {

using testing::expect_error;
using testing::golden_path;

const char* const tiny_llama = R"({"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64, "max_position_embeddings": 512,
    "bos_token_id": 1, "initializer_range": 0.3})";
const char* const tiny_marian = R"({"model_type": "marian", "d_model": 12, "encoder_layers": 1, "decoder_layers": 2,
    "encoder_attention_heads": 2, "decoder_attention_heads": 3, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16,
    "pad_token_id": 3, "decoder_start_token_id": 3, "eos_token_id": 2, "initializer_range": 0.5})";

models::OpenedModel tiny(const char* config = tiny_llama, const std::string& tokenizer = "byte-fallback-bpe-llama2") {
    models::OpenedModel model = testing::tiny_text_model(config, tokenizer);
    model.settings = models::read_generation_settings({}, model.config);
    return model;
}

// The model's settings with so many new tokens, and no end but that.
models::GenerationSettings endless(const models::OpenedModel& model, std::int64_t tokens) {
    models::GenerationSettings settings = model.settings;
    settings.stop_ids.clear();
    settings.max_new_tokens = tokens;
    return settings;
}

// What pieces say, by row.
struct Told {
    std::vector<std::string> texts;
    std::vector<std::vector<std::int64_t>> tokens;

    OnPiece pieces(std::size_t rows) {
        texts.assign(rows, {});
        tokens.assign(rows, {});
        return [this](const TextPiece& piece) {
            texts[piece.row] += piece.text;
            if (piece.id) tokens[piece.row].push_back(*piece.id);
        };
    }
};

TEST(Generator, StreamsWhatItReturnsBySamplingAndByBeams) {
    for (const char* config : {tiny_llama, tiny_marian}) {
        const bool translates = config == tiny_marian;
        const models::OpenedModel model =
            tiny(config, translates ? "sentencepiece-unigram" : "byte-fallback-bpe-llama2");
        for (const std::int64_t beams : {1, 3}) {
            GenerationRequest request{.prompts = {{.text = "Hello big world"}, {.text = "a"}}};
            request.settings = endless(model, 12);
            request.settings->beams.count = beams;
            Told told;
            const GenerationResult result = Generator(model).generate(request, told.pieces(2));
            ASSERT_EQ(result.texts.size(), 2u);
            for (std::size_t row = 0; row < 2; ++row) {
                EXPECT_EQ(result.texts[row].text, told.texts[row]);
                EXPECT_EQ(result.texts[row].tokens, told.tokens[row]);
                EXPECT_EQ(result.texts[row].tokens.size(), 12u);
                EXPECT_EQ(result.texts[row].ending, Ending::Length);
            }
            EXPECT_GT(result.timings.first_token_seconds, 0);
            EXPECT_EQ(result.timings.prompt_tokens,
                      static_cast<std::int64_t>(ids_of(model, request.prompts[0]).size() +
                                                ids_of(model, request.prompts[1]).size()));
        }
    }
}

TEST(Generator, TokensAreThoseOfTheLoopAndOfTheSearch) {
    const models::OpenedModel model = tiny();
    const std::vector<Prompt> prompts{{.text = "Hello big world"}, {.text = "a"}};
    const models::Batch batch = batch_for(model, prompts);
    models::GenerationSettings settings = endless(model, 10);
    settings.sampler = {.do_sample = true, .temperature = 1.5, .seed = 4};
    const auto sampled = generate(*model.model, batch, {.max_new_tokens = 10, .sampler = settings.sampler}).tokens;
    const auto texts = Generator(model).generate({.prompts = prompts, .settings = settings}).texts;
    for (std::size_t row = 0; row < 2; ++row) EXPECT_EQ(texts[row].tokens, sampled[row]);
    settings.beams.count = 3;
    const auto found = beam_search(*model.model, batch, {.beams = settings.beams, .max_new_tokens = 10}).texts;
    const auto best = Generator(model).generate({.prompts = prompts, .settings = settings}).texts;
    for (std::size_t row = 0; row < 2; ++row) {
        EXPECT_EQ(best[row].tokens, found[row][0].tokens);
        EXPECT_EQ(best[row].score, found[row][0].score);
    }
}

TEST(Prompt, IsPutIntoTokensAsFarAsItCouldFit) {
    const models::OpenedModel model = tiny();
    std::string text;
    while (text.size() < (4 << 20)) text += "Hello big world\n";
    const auto count = static_cast<std::int64_t>(ids_of(model, {.text = text}).size());
    const auto complaint = [&](const std::string& of, std::int64_t most) {
        try {
            ids_of(model, {.text = of}, most);
        } catch (const PromptTooLong& error) {
            EXPECT_FALSE(error.is_all);
            EXPECT_GT(error.tokens, most);
            EXPECT_LT(error.tokens, count / 2);
            EXPECT_EQ(error.count(), text_of("more than ", error.tokens));
            return true;
        }
        return false;
    };
    EXPECT_TRUE(complaint(text, 10));
    EXPECT_TRUE(complaint(text, 100'000));
    EXPECT_FALSE(complaint(text, count));
    EXPECT_FALSE(complaint(text.substr(0, 1000), 10));  // counted to its end: the loop says how many there are
    GenerationRequest request{.prompts = {{.text = text}}, .settings = endless(model, 2)};
    EXPECT_THROW(Generator(model).generate(request), PromptTooLong);
    request.context = {.end = AtContext::Shift};
    const GenerationResult shifted = Generator(model).generate(request);
    EXPECT_EQ(shifted.timings.prompt_tokens, count);
    EXPECT_GT(shifted.forgotten, count - 512);
}

TEST(Generator, StopsAtTheIdsOfTheFilesElseAtTheTokenizersEnd) {
    models::OpenedModel model = tiny();
    const GenerationRequest request{.prompts = {{.text = "Hello"}}, .usual_new_tokens = 12};
    const auto run = [&] { return Generator(model).generate(request).texts[0]; };
    ASSERT_TRUE(model.settings.stop_ids.empty());
    const std::vector<std::int64_t> whole = run().tokens;
    ASSERT_EQ(whole.size(), 12u);
    const auto expect_end = [&](std::int64_t id) {
        const GeneratedText text = run();
        EXPECT_EQ(text.ending, Ending::StopId);
        EXPECT_EQ(text.tokens.back(), id);
        EXPECT_LT(text.tokens.size(), whole.size());
        EXPECT_EQ(text.text.find(model.text().decode(std::vector{id}, true)), text.text.npos);  // not part of the text
    };
    model.settings.stop_ids = {whole[3], whole[5]};
    expect_end(run().tokens.back());
    EXPECT_LE(run().tokens.size(), 4u);
    model.settings.stop_ids.clear();
    auto tokenizer = tokenizers::open_tokenizer(golden_path("tokenizers/byte-fallback-bpe-llama2"));
    const_cast<tokenizers::Tokenizer&>(*tokenizer).special.eos = whole[4];
    model.tokenizer = tokenizer;
    expect_end(whole[4]);
    EXPECT_EQ(settings_of(model).stop_ids, std::vector{whole[4]});
    model.settings.stop_ids = {whole[2]};  // the files know better
    expect_end(whole[2]);
    EXPECT_EQ(settings_of(model).stop_ids, std::vector{whole[2]});
}

TEST(Generator, EndsBeforeAStopStringBySamplingAndByBeams) {
    const models::OpenedModel model = tiny();
    for (const std::int64_t beams : {1, 2}) {
        GenerationRequest request{.prompts = {{.text = "Hello"}}, .settings = endless(model, 12)};
        request.settings->beams.count = beams;
        const GeneratedText whole = Generator(model).generate(request).texts[0];
        ASSERT_GT(whole.text.size(), 8u);
        request.stops = {whole.text.substr(whole.text.size() / 2, 3)};
        Told told;
        const GeneratedText cut = Generator(model).generate(request, told.pieces(1)).texts[0];
        EXPECT_EQ(cut.text, whole.text.substr(0, whole.text.find(request.stops[0])));
        EXPECT_EQ(cut.text, told.texts[0]);
        EXPECT_EQ(cut.ending, Ending::StopString);
        EXPECT_LT(cut.tokens.size(), whole.tokens.size());
    }
}

// Counts how often texts become ids.
class CountingTokenizer : public testing::LetterTokenizer {
   public:
    mutable int encoded = 0;

   protected:
    void append_ids(std::string_view text, tokenizers::Ids& out, Take take) const override {
        ++encoded;
        LetterTokenizer::append_ids(text, out, take);
    }
};

TEST(Generator, PutsEachTextIntoTokensOnce) {
    models::OpenedModel model = tiny();
    const auto tokenizer = std::make_shared<CountingTokenizer>();
    model.tokenizer = tokenizer;
    for (const std::int64_t beams : {1, 2}) {
        tokenizer->encoded = 0;
        GenerationRequest request{.prompts = {{.text = "one"}, {.text = "two"}}, .settings = endless(model, 2)};
        request.settings->beams.count = beams;
        Generator(model).generate(request);
        EXPECT_EQ(tokenizer->encoded, 2);
    }
}

TEST(Generator, ReadsOfALonePromptWhatIsNew) {
    const models::OpenedModel model = tiny();
    Generator generator(model);
    GenerationRequest request{.prompts = {{.ids = {1, 5, 17, 42}}}, .settings = endless(model, 4)};
    const GeneratedText first = generator.generate(request).texts[0];
    std::vector<std::int64_t>& ids = request.prompts[0].ids;
    ids.insert(ids.end(), first.tokens.begin(), first.tokens.end());
    ids.push_back(7);
    const GenerationResult second = generator.generate(request);
    EXPECT_EQ(second.timings.reused_tokens, 7);  // all but the token chosen last and the new one
    EXPECT_EQ(second.texts[0].tokens, Generator(model).generate(request).texts[0].tokens);
    request.reuse_cache = false;
    EXPECT_EQ(generator.generate(request).timings.reused_tokens, 0);
    request.reuse_cache = true;
    EXPECT_GT(generator.generate(request).timings.reused_tokens, 0);
    generator.clear_cache();
    EXPECT_EQ(generator.generate(request).timings.reused_tokens, 0);
}

TEST(Generator, GivesLogProbabilitiesWhereTheyAreAskedFor) {
    const models::OpenedModel model = tiny();
    GenerationRequest request{.prompts = {{.text = "Hello"}}, .settings = endless(model, 3), .log_probabilities = 2};
    std::vector<double> told;
    const GeneratedText text = Generator(model)
                                   .generate(request,
                                             [&](const TextPiece& piece) {
                                                 if (piece.id) told.push_back(piece.log_probability);
                                             })
                                   .texts[0];
    ASSERT_EQ(text.log_probabilities.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        const TokenLogProbabilities& token = text.log_probabilities[i];
        EXPECT_EQ(token.id, text.tokens[i]);
        EXPECT_EQ(token.log_probability, told[i]);
        EXPECT_LT(token.log_probability, 0);
        ASSERT_EQ(token.most.size(), 2u);
        EXPECT_EQ(token.most[0].id, token.id);  // the most probable one was taken
    }
    request.settings->beams.count = 2;
    expect_error([&] { Generator(model).generate(request); }, {"log-probabilities", "beams"});
}

TEST(Generator, CanBeCancelledBetweenTokensAndBetweenPartsOfAPrompt) {
    const models::OpenedModel model = tiny();
    Generator generator(model);
    for (const std::int64_t beams : {1, 2}) {
        SCOPED_TRACE(beams);
        int asked = 0;
        GenerationRequest request{.prompts = {{.ids = std::vector<std::int64_t>(50, 9)}},
                                  .settings = endless(model, 200),
                                  .prefill_chunk = 8};
        request.settings->beams.count = beams;
        const GeneratedText whole = generator.generate(request).texts[0];
        // Of the prompt two parts are read, then no more.
        std::int64_t read = 0;
        generator.clear_cache();
        request.on_prefill = [&](std::int64_t done, std::int64_t) { read = done; };
        request.is_cancelled = [&] { return ++asked == 3; };
        const GeneratedText none = generator.generate(request).texts[0];
        EXPECT_EQ(none.ending, Ending::Cancelled);
        EXPECT_TRUE(none.tokens.empty());
        EXPECT_EQ(read, 16);
        // It is read in seven parts; then there are four tokens.
        asked = 0;
        request.is_cancelled = [&] { return ++asked == 6 + 5; };
        const GeneratedText some = generator.generate(request).texts[0];
        EXPECT_EQ(some.ending, Ending::Cancelled);
        ASSERT_EQ(some.tokens.size(), 4u);
        const bool is_beginning = std::equal(some.tokens.begin(), some.tokens.end(), whole.tokens.begin());
        EXPECT_TRUE(is_beginning || beams > 1);  // the best beam so far need not be so in the end
        request.is_cancelled = {};
        EXPECT_EQ(generator.generate(request).texts[0].tokens, whole.tokens);
    }
}

// What had been read before is not lost.
TEST(Generator, GoesOnWithAPromptThatWasCancelled) {
    const models::OpenedModel model = tiny();
    Generator generator(model);
    std::vector<std::int64_t> ids{1};
    for (std::int64_t i = 0; i < 60; ++i) ids.push_back(3 + i * i % 40);
    GenerationRequest request{.prompts = {{.ids = {1, 3, 4}}}, .settings = endless(model, 5), .prefill_chunk = 8};
    generator.generate(request);
    request.prompts = {{.ids = ids}};
    int asked = 0;
    request.is_cancelled = [&] { return ++asked == 3; };
    EXPECT_EQ(generator.generate(request).texts[0].ending, Ending::Cancelled);
    request.is_cancelled = {};
    const GenerationResult result = generator.generate(request);
    EXPECT_EQ(result.timings.reused_tokens, 3 + 3 * 8);
    EXPECT_EQ(result.texts[0].tokens, Generator(model).generate(request).texts[0].tokens);
}

// Ids, masks and pixels go where the model is, in every way a prompt is read.
TEST(Generator, GivesTheSameTextsOnACudaDevice) {
    if (!available(DeviceKind::CUDA)) GTEST_SKIP() << "no CUDA device";
    const models::OpenedModel here = tiny();
    models::OpenedModel there = tiny();
    nn::move_to(*there.model, cuda);
    there.device = cuda;
    Generator first(here), second(there);
    for (const std::int64_t beams : {1, 2})
        for (const bool reuse : {false, true})
            for (const char* more : {"", " and more"}) {  // padded beside another; alone, read on from the caches
                GenerationRequest request{.settings = endless(here, 6), .reuse_cache = reuse};
                request.prompts.push_back({.text = text_of("Hello big world", more)});
                if (!reuse) request.prompts.push_back({.text = "a"});
                request.settings->beams.count = beams;
                const auto expected = first.generate(request).texts, found = second.generate(request).texts;
                for (std::size_t row = 0; row < expected.size(); ++row)
                    EXPECT_EQ(found[row].tokens, expected[row].tokens);
            }
}

TEST(Generator, AShiftKeepsTheTokenThatTextsBeginWith) {
    const models::OpenedModel model = tiny();
    const auto run = [&](std::vector<std::int64_t> ids, std::optional<std::int64_t> kept) {
        return Generator(model)
            .generate({.prompts = {{.ids = std::move(ids)}},
                       .settings = endless(model, 60),
                       .context = {.tokens = 24, .end = AtContext::Shift, .kept = kept}})
            .texts[0]
            .tokens;
    };
    const std::vector<std::int64_t> begins{1, 40, 41, 42, 43}, other{40, 41, 42, 43, 44};
    EXPECT_EQ(run(begins, {}), run(begins, 1));
    EXPECT_NE(run(begins, {}), run(begins, 0));
    EXPECT_EQ(run(other, {}), run(other, 0));
}

TEST(Generator, AnswersAboutImages) {
    models::OpenedModel model =
        models::open_model(golden_path("paligemma"), {.needs_tokenizer = models::NeedsTokenizer::No});
    model.tokenizer = std::make_shared<testing::LetterTokenizer>();
    const formats::Image images[] = {formats::read_image(golden_path("image-preprocess/picture.png")),
                                     formats::read_image(golden_path("pictures/alpha.png"))};
    GenerationRequest request{.prompts = {{.text = "cat"}, {.text = "dog"}},
                              .images = images,
                              .own_image = true,
                              .settings = endless(model, 4)};
    const GenerationResult each = Generator(model).generate(request);
    for (std::size_t row = 0; row < 2; ++row) {
        const GenerationRequest alone{.prompts = {request.prompts[row]},
                                      .images = std::span(images).subspan(row, 1),
                                      .settings = request.settings};
        EXPECT_EQ(Generator(model).generate(alone).texts[0].tokens, each.texts[row].tokens);
    }
    expect_error([&] { Generator(model).generate({.prompts = {{.text = "cat"}}}); }, {"an image", "there is none"});
    expect_error([&] { Generator(model).generate({.prompts = {{.ids = {1}}}, .images = images}); }, {"not ids"});
    expect_error([&] { Generator(model).generate({}); }, {"no prompt"});
}

}  // namespace
}  // namespace tessera::inference
