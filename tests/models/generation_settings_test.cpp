#include "tessera/models/generation_settings.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace tessera::models {
namespace {

GenerationSettings read(const std::string& generation, const std::string& config = "{}") {
    const auto parsed = [](const std::string& text, const char* name) {
        return formats::Config(formats::Json::parse(text, name), name);
    };
    return read_generation_settings(parsed(generation, "generation_config.json"), parsed(config, "config.json"));
}

TEST(GenerationSettings, ReadsAChatModelsFile) {
    const GenerationSettings s = read(R"({"bos_token_id": 128000, "do_sample": true, "temperature": 0.6, "top_p": 0.9,
        "eos_token_id": [128001, 128008, 128009], "max_length": 4096, "transformers_version": "4.42.3"})");
    EXPECT_TRUE(s.sampler.do_sample);
    EXPECT_EQ(s.sampler.temperature, 0.6);
    EXPECT_EQ(s.sampler.top_p, 0.9);
    EXPECT_EQ(s.sampler.top_k, 50);  // the reference's fallback
    EXPECT_EQ(s.stop_ids, (std::vector<std::int64_t>{128001, 128008, 128009}));
    EXPECT_EQ(s.bos, 128000);
    EXPECT_EQ(s.most_new_tokens(96, 64), 4000);
    EXPECT_EQ(s.beams.count, 1);
    EXPECT_TRUE(s.rules.changes_nothing());
}

TEST(GenerationSettings, ReadsATranslatorsFile) {
    const GenerationSettings s = read(R"({"bad_words_ids": [[58100], [0], [3, 4]], "decoder_start_token_id": 58100,
        "eos_token_id": 0, "forced_eos_token_id": 0, "max_length": 512, "num_beams": 6, "pad_token_id": 58100,
        "length_penalty": 2.0, "early_stopping": true, "no_repeat_ngram_size": 3, "min_length": 56,
        "forced_bos_token_id": 0, "top_k": 0, "repetition_penalty": null})");
    EXPECT_EQ(s.rules.bad_words, (std::vector<std::vector<std::int64_t>>{{58100}, {3, 4}}));  // a stop id is none
    EXPECT_EQ(s.rules.forced_last, std::vector<std::int64_t>{0});
    EXPECT_EQ(s.rules.forced_first, 0);
    EXPECT_EQ(s.rules.no_repeat_ngram, 3);
    EXPECT_EQ(s.rules.min_length, 56);
    EXPECT_EQ(s.decoder_start, 58100);
    EXPECT_EQ(s.padding, 58100);
    EXPECT_EQ(s.beams.count, 6);
    EXPECT_EQ(s.beams.length_penalty, 2);
    EXPECT_EQ(s.beams.early_stopping, EarlyStopping::WhenFull);
    EXPECT_EQ(s.sampler.top_k, 0);
    EXPECT_EQ(read(R"({"early_stopping": "never"})").beams.early_stopping, EarlyStopping::Never);
}

TEST(GenerationSettings, FallsBackToConfigJson) {
    const std::string config = R"({"eos_token_id": 2, "num_beams": 4, "max_length": 142})";
    EXPECT_EQ(read("{}", config).beams.count, 4);
    EXPECT_EQ(read(R"({"max_new_tokens": 7})", config).beams.count, 1);  // one file says how, never both
    EXPECT_EQ(read(R"({"max_new_tokens": 7})", config).stop_ids, std::vector<std::int64_t>{2});
    EXPECT_EQ(read(R"({"max_new_tokens": 7})", config).most_new_tokens(3, 64), 7);
    EXPECT_EQ(read("{}", R"({"text_config": {"eos_token_id": 1}})").stop_ids, std::vector<std::int64_t>{1});
    EXPECT_EQ(read("{}").most_new_tokens(3, 64), 64);
    EXPECT_EQ(read("{}").stop_ids, std::vector<std::int64_t>{});
}

TEST(GenerationSettings, TakesLongLists) {
    std::string stops = "5", words = "[5]";
    for (int i = 0; i < 400'000; ++i) {
        stops += "," + std::to_string(i % 200'000);
        words += ",[" + std::to_string(i + 100'000) + "]";
    }
    const GenerationSettings s = read(R"({"eos_token_id": [)" + stops + R"(], "bad_words_ids": [)" + words + "]}");
    EXPECT_EQ(s.stop_ids.size(), 200'000u);
    EXPECT_EQ(s.stop_ids[0], 5);
    EXPECT_EQ(s.stop_ids[1], 0);
    EXPECT_EQ(s.rules.bad_words.size(), 300'000u);  // stops are no bad words
}

TEST(GenerationSettings, NamesFileAndFieldOfWhatIsWrong) {
    const auto refuse = [](const char* text, const char* field) {
        testing::expect_error([&] { read(text); }, {"generation_config.json", field});
    };
    refuse(R"({"temperature": -1})", "temperature");
    refuse(R"({"temperature": "hot"})", "temperature");
    refuse(R"({"top_p": 1.5})", "top_p");
    refuse(R"({"top_k": -3})", "top_k");
    refuse(R"({"repetition_penalty": 0})", "repetition_penalty");
    refuse(R"({"bad_words_ids": [3]})", "bad_words_ids");
    refuse(R"({"early_stopping": "soon"})", "early_stopping");
    refuse(R"({"num_beams": 100000})", "num_beams");
    refuse(R"({"max_new_tokens": 0})", "max_new_tokens");
    refuse(R"({"eos_token_id": "x"})", "eos_token_id");
}

}  // namespace
}  // namespace tessera::models
