// A model with what belongs to it, from every form in which models come, and saved again.
#include "tessera/models/opened_model.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/gguf_builder.h"
#include "support/golden_folders.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/formats/own_files.h"
#include "tessera/models/catalog.h"
#include "tessera/models/sentence.h"
#include "tessera/nn/lora.h"
#include "tessera/tensor/tape.h"
#include "tessera/tokenizers/tokenizer_file.h"

namespace tessera::models {
namespace {

namespace fs = std::filesystem;
using testing::Bytes;
using testing::expect_error;
using testing::golden_path;

// A tokenizer of llama2.c: the bytes, and one piece more.
void write_tok_bin(const fs::path& file) {
    Bytes bytes;
    testing::append<std::int32_t>(bytes, 8);
    const auto add = [&](const std::string& text) {
        testing::append<float>(bytes, 0);
        testing::append<std::int32_t>(bytes, static_cast<std::int32_t>(text.size()));
        for (const char c : text) testing::append<char>(bytes, c);
    };
    for (const char* text : {"<unk>", "\n<s>\n", "\n</s>\n"}) add(text);
    for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
    add(" ");
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

// The smallest model of llama2.c that knows the tokens above.
void write_llama2c(const fs::path& file) {
    constexpr std::int32_t width = 8, hidden = 12, vocabulary = 260, context = 10;
    Bytes bytes;
    for (const std::int32_t size : {width, hidden, 1, 2, 2, vocabulary, context}) testing::append(bytes, size);
    const std::int32_t floats = vocabulary * width + 3 * width + 4 * width * width + 3 * width * hidden + context * 4;
    for (std::int32_t i = 0; i < floats; ++i) testing::append(bytes, 0.01F * static_cast<float>(i % 7));
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

class Opened : public ::testing::Test {
   protected:
    fs::path copy_golden(const std::string& golden, const std::string& name) const {
        fs::create_directories(folder_ / name);
        for (const char* file : {"config.json", "model.safetensors"})
            fs::copy_file(fs::path(golden_path(golden)) / file, folder_ / name / file);
        return folder_ / name;
    }
    void copy_tokenizer(const std::string& golden, const fs::path& to) const {
        fs::copy_file(golden_path("tokenizers/" + golden + "/tokenizer.json"), to / "tokenizer.json");
    }
    // Adapters over the model, in a folder of their own.
    fs::path adapters_over(const fs::path& base, const AdapterSettings& settings) const {
        const std::unique_ptr<Model> model = load(base);
        attach_adapters(*model, settings, {.seed = 3});
        nn::for_each_linear(*model, [](const std::string&, nn::Linear& linear) {
            if (linear.adapter) {
                auto& lora = static_cast<nn::Lora&>(*linear.adapter);
                lora.up = Tensor::full(lora.up.shape(), 0.25, lora.up.dtype());
            }
        });
        save_adapters(*model, settings, base.string(), folder_ / "adapters");
        return folder_ / "adapters";
    }
    static fs::path place_of(const fs::path& model) { return tokenizer_place(model_place(model)); }
    static std::vector<float> logits_of(const OpenedModel& opened) {
        const NoGrad no_grad;
        return opened.model->forward({.input_ids = Tensor::from(std::vector<std::int64_t>{1, 5, 3}, {1, 3})})
            .to_vector<float>();
    }
    testing::TemporaryFolder folder_;
};

TEST_F(Opened, AFolderHoldsItsTokenizer) {
    const fs::path model = copy_golden("llama", "m");
    EXPECT_EQ(place_of(model), fs::path());
    EXPECT_EQ(open_model(model).tokenizer, nullptr);
    EXPECT_THROW(open_model(model, {.needs_tokenizer = NeedsTokenizer::Yes}), tokenizers::NoTokenizer);
    EXPECT_THROW(open_model(model).text(), tokenizers::NoTokenizer);
    copy_tokenizer("wordpiece-bert", model);
    EXPECT_EQ(place_of(model), model);
    EXPECT_NE(open_model(model).tokenizer, nullptr);
    EXPECT_EQ(open_model(model, {.needs_tokenizer = NeedsTokenizer::No}).tokenizer, nullptr);
}

TEST_F(Opened, AGgufHasItsTokenizerInsideOrAround) {
    const fs::path bare = folder_ / "bare.gguf", whole = folder_ / "whole.gguf";
    testing::GgufBuilder().set("general.architecture", "llama").write(bare);
    testing::GgufBuilder().set("general.architecture", "llama").set("tokenizer.ggml.model", "gpt2").write(whole);
    EXPECT_EQ(place_of(bare), fs::path());
    copy_tokenizer("wordpiece-bert", folder_.path());
    EXPECT_EQ(place_of(bare), folder_.path());
    EXPECT_EQ(place_of(whole), whole);
}

TEST_F(Opened, AFileOfLlama2cHasItsTokenizerBesideIt) {
    const fs::path model = folder_ / "stories.bin";
    write_llama2c(model);
    EXPECT_EQ(place_of(model), fs::path());
    expect_error([&] { open_model(model, {.needs_tokenizer = NeedsTokenizer::Yes}); }, {"stories.bin", "tokenizer"});
    write_tok_bin(folder_ / "tok260.bin");
    EXPECT_EQ(place_of(model), folder_ / "tok260.bin");
    const OpenedModel opened = open_model(model, {.needs_tokenizer = NeedsTokenizer::Yes});
    EXPECT_EQ(opened.text().size(), 260);
    EXPECT_EQ(opened.vocabulary(), 260);
    opened.save(folder_ / "out");
    const OpenedModel again = open_model(folder_ / "out", {.needs_tokenizer = NeedsTokenizer::Yes});
    EXPECT_EQ(again.text().encode("a bc"), opened.text().encode("a bc"));
    EXPECT_EQ(logits_of(again), logits_of(opened));
    // Whoever needs none is not asked which of two it is.
    write_tok_bin(folder_ / "tok261.bin");
    expect_error([&] { place_of(model); }, {"stories.bin", "two tokenizers lie beside it"});
    EXPECT_EQ(open_model(model, {.needs_tokenizer = NeedsTokenizer::No}).tokenizer, nullptr);
    write_tok_bin(folder_ / "tokenizer.bin");
    EXPECT_EQ(place_of(model), folder_.path());
}

TEST_F(Opened, WhatAdaptersDoNotBringIsTheBases) {
    const fs::path base = copy_golden("vit", "base");
    folder_.write("base/preprocessor_config.json", R"({"image_mean": [0.1, 0.2, 0.3]})");
    copy_tokenizer("wordpiece-bert", base);
    const fs::path adapters = adapters_over(base, {.rank = 2, .targets = {"query"}});
    EXPECT_EQ(place_of(adapters), base);
    EXPECT_EQ(open_model(adapters).images().mean[1], 0.2);
    copy_tokenizer("unigram-t5", adapters);
    EXPECT_EQ(place_of(adapters), adapters);
    EXPECT_EQ(tokenizer_place(model_place(base, adapters)), adapters);
    EXPECT_EQ(open_model(adapters).images().mean[1], 0.2);  // each file by itself
    folder_.write("adapters/preprocessor_config.json", R"({"image_mean": [0.4, 0.5, 0.6]})");
    for (const OpenedModel& opened : {open_model(adapters), open_model(base, {.adapter = adapters})}) {
        EXPECT_EQ(opened.images().mean[1], 0.5);
        EXPECT_EQ(opened.sidecar_files.tokenizer, adapters);
    }
    expect_error([&] { open_model(adapters, {.adapter = adapters}); }, {"adapters"});
    expect_error([&] { open_model(base, {.adapter = base}); }, {"adapter_config.json"});
}

TEST_F(Opened, AdaptersAreSavedAlone) {
    const fs::path base = copy_golden("llama", "base");
    copy_tokenizer("wordpiece-bert", base);
    const fs::path adapters = adapters_over(base, {.rank = 2, .alpha = 6, .targets = {"q_proj", "down_proj"}});
    const OpenedModel opened = open_model(adapters);
    EXPECT_NE(logits_of(opened), logits_of(open_model(base)));
    opened.save(folder_ / "again");
    EXPECT_FALSE(fs::exists(folder_ / "again/model.safetensors"));
    EXPECT_TRUE(fs::exists(folder_ / "again/tokenizer.json"));
    EXPECT_EQ(logits_of(open_model(folder_ / "again")), logits_of(opened));
    merge_adapters(*opened.model);
    opened.save(folder_ / "merged");
    EXPECT_EQ(logits_of(open_model(folder_ / "merged")), logits_of(opened));
    EXPECT_FALSE(fs::exists(folder_ / "merged/adapter_config.json"));
    fs::remove_all(base);
    EXPECT_THROW(open_model(adapters), NoBase);
}

TEST_F(Opened, ScalesThatOneSettingCannotSayAreNotWritten) {
    const fs::path base = copy_golden("llama", "base");
    const fs::path adapters = adapters_over(base, {.rank = 4, .alpha = 6, .targets = {"q_proj"}});
    formats::Json config = formats::Json::read(adapters / "adapter_config.json");
    config.set("use_rslora", true).write(adapters / "adapter_config.json");
    EXPECT_EQ(read_adapter_settings(adapters).alpha, 12);
    const OpenedModel opened = open_model(adapters);
    opened.save(folder_ / "again");
    EXPECT_EQ(logits_of(open_model(folder_ / "again")), logits_of(opened));
    config.set("alpha_pattern", formats::Json::object().set("q_proj", 3)).write(adapters / "adapter_config.json");
    expect_error([&] { open_model(adapters).save(folder_ / "third"); }, {"adapter_config.json", "alpha_pattern"});
}

TEST_F(Opened, ImagesAndClassesAreReadOnce) {
    const fs::path model = copy_golden("vit", "m");
    folder_.write("m/preprocessor_config.json", R"({"image_mean": [0.1, 0.2, 0.3]})");
    const OpenedModel opened = open_model(model);
    fs::remove(model / "preprocessor_config.json");
    EXPECT_EQ(opened.images().mean[0], 0.1);
    EXPECT_EQ(opened.labels.size(), 10u);
    EXPECT_FALSE(open_model(golden_path("llama")).image_processor.has_value());
    expect_error([&] { open_model(golden_path("llama")).images(); }, {"llama", "no images"});
}

TEST_F(Opened, WhatItCannotDoIsToldBeforeWhatItLacks) {
    const OpenOptions options{.needs_tokenizer = NeedsTokenizer::Yes, .capability = Capability::Score};
    expect_error([&] { open_model(golden_path("vit"), options); }, {"vit", "does not score texts"});
    expect_error([&] { open_model(golden_path("llama"), options); }, {"llama", "holds no tokenizer"});
}

TEST_F(Opened, SidecarFilesAreKeptWhateverBecomesOfThem) {
    const fs::path model = copy_golden("vit", "m");
    folder_.write("m/preprocessor_config.json", R"({"image_mean": [0.1, 0.2, 0.3]})");
    copy_tokenizer("wordpiece-bert", model);
    OpenedModel opened = open_model(model);
    opened.keep_sidecar_files(folder_ / "kept");
    fs::remove(model / "preprocessor_config.json");
    fs::remove(model / "tokenizer.json");
    opened.save(folder_ / "out");
    EXPECT_EQ(open_model(folder_ / "out").images().mean[0], 0.1);
    EXPECT_NE(open_model(folder_ / "out").tokenizer, nullptr);
}

// Whoever pools otherwise has other vectors.
TEST_F(Opened, HowSentencesArePooledGoesAlong) {
    const fs::path base = copy_golden("bert-mlm", "base");
    folder_.write("base/1_Pooling/config.json",
                  R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})");
    folder_.write("base/sentence_bert_config.json", R"({"max_seq_length": 5})");
    const auto pooling_of = [](const OpenedModel& opened) { return read_pooling(opened.sidecar_files.pooling); };
    OpenedModel opened = open_model(base);
    opened.save(folder_ / "plain");
    opened.keep_sidecar_files(folder_ / "kept");
    fs::remove_all(base / "1_Pooling");
    opened.save(folder_ / "after");
    for (const char* name : {"plain", "after"}) {
        const Pooling pooling = pooling_of(open_model(folder_ / name));
        EXPECT_EQ(pooling.mode, PoolingMode::First) << name;
        EXPECT_EQ(pooling.longest_text, 5) << name;
    }
    const fs::path adapters = adapters_over(folder_ / "plain", {.rank = 2, .targets = {"query"}});
    EXPECT_EQ(pooling_of(open_model(adapters)).mode, PoolingMode::First);
    EXPECT_TRUE(open_model(golden_path("llama")).sidecar_files.pooling.empty());
    for (const auto& [name, pooling] : {std::pair{"1_Pooling/config.json", true},
                                        {"sentence_bert_config.json", true},
                                        {"modules.json", true},
                                        {"sentences.json", false}})
        EXPECT_EQ(formats::is_model_file(name), pooling) << name;  // what overwriting replaces
}

class VocabularyOfLogits : public ::testing::TestWithParam<fs::path> {};

// As many logits as the model says that it knows tokens, whatever its config.json calls them.
TEST_P(VocabularyOfLogits, IsThatOfTheLogits) {
    const NoGrad no_grad;
    const OpenedModel opened = open_model(GetParam(), {.needs_tokenizer = NeedsTokenizer::No});
    const Batch prompt{.input_ids = Tensor::from(std::vector<std::int64_t>{3, 4}, {1, 2})};
    if (opened.image_processor) {  // its prompts hold images
        EXPECT_EQ(opened.vocabulary(), opened.config.section("text_config").integer("vocab_size"));
        return;
    }
    EXPECT_EQ(opened.model->decode(4)->prefill(prompt).size(1), opened.vocabulary());
}

INSTANTIATE_TEST_SUITE_P(All, VocabularyOfLogits, ::testing::ValuesIn(testing::model_folders("greedy_tokens")),
                         testing::folder_name);

TEST(VocabularyOf, OtherModels) {
    EXPECT_EQ(open_model(golden_path("paligemma")).vocabulary(), 200);
    EXPECT_EQ(open_model(golden_path("vit")).vocabulary(), 0);
    const auto built = [](const char* json) {
        return build({formats::Json::parse(json, "config.json"), "config.json"})->vocabulary();
    };
    EXPECT_EQ(built(R"({"model_type": "bert", "vocab_size": 77, "hidden_size": 8, "num_attention_heads": 2,
                        "num_hidden_layers": 1, "intermediate_size": 8})"),
              77);
}

}  // namespace
}  // namespace tessera::models
