// tessera inspect: what a model is, for people and for scripts.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "support/gguf_builder.h"
#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "tessera/formats/json.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/catalog.h"

namespace tessera {
namespace {

using formats::Json;
using testing::expect_success;

Json facts_of(const std::string& source) {
    return Json::parse(expect_success({"inspect", source, "--json"}).out, "standard output");
}

std::int64_t number(const Json& facts, const char* name) { return facts.find(name)->as_integer(); }

TEST(Inspect, TellsLayersContextAndVocabulary) {
    const Json llama = facts_of("llama-3-8b");
    EXPECT_EQ(number(llama, "vocabulary"), 128256);
    EXPECT_EQ(number(llama, "context"), 8192);
    const auto& stacks = llama.find("stacks")->items();
    ASSERT_EQ(stacks.size(), 1U);
    EXPECT_EQ(number(stacks[0], "layers"), 32);
    EXPECT_EQ(number(stacks[0], "width"), 4096);
    EXPECT_EQ(number(stacks[0], "heads"), 32);
    EXPECT_EQ(number(stacks[0], "kv_heads"), 8);
    EXPECT_EQ(number(stacks[0], "head_width"), 128);
    EXPECT_TRUE(llama.find("stored")->items().empty());
    const std::string text = expect_success({"inspect", "llama-3-8b"}).out;
    for (const char* part :
         {"32 layers", "width 4,096", "32 heads of 128", "8 of keys and values", "8,192 tokens", "128,256"})
        EXPECT_NE(text.find(part), text.npos) << part;
}

TEST(Inspect, TellsEachStackOfLayers) {
    const auto names = [](const char* golden) {
        std::vector<std::string> found;
        const Json facts = facts_of(testing::golden_path(golden));
        for (const Json& stack : facts.find("stacks")->items()) {
            found.push_back(stack.find("name")->as_string());
            EXPECT_EQ(number(stack, "layers"), 2) << golden;
        }
        return found;
    };
    using Names = std::vector<std::string>;
    EXPECT_EQ(names("gpt2"), Names{""});
    EXPECT_EQ(names("t5"), (Names{"encoder", "decoder"}));
    EXPECT_EQ(names("paligemma"), (Names{"vision", "language"}));
    EXPECT_EQ(names("vit"), Names{""});
    EXPECT_EQ(names("siglip"), (Names{"vision", "text"}));
    EXPECT_EQ(number(facts_of(testing::golden_path("gpt2")), "context"), 64);
}

TEST(Inspect, TellsWhatTheModelCanDo) {
    const auto capabilities = [](const std::string& source) {
        std::string names;
        const Json facts = facts_of(source);
        for (const Json& one : facts.find("capabilities")->items()) names += one.as_string() + " ";
        return names;
    };
    EXPECT_EQ(capabilities("llama-3-8b"), "generate score embed_texts ");
    EXPECT_EQ(capabilities(testing::golden_path("t5")), "generate encode_decode align ");
    EXPECT_EQ(capabilities(testing::golden_path("siglip")), "embed_images compare_images ");
    const std::string text = expect_success({"inspect", testing::golden_path("vit")}).out;
    for (const char* part : {"can", "classify images", "learn other classes"})
        EXPECT_NE(text.find(part), text.npos) << part;
}

TEST(Inspect, TellsWhatTheFilesHold) {
    const testing::TemporaryFolder folder;
    const std::string golden = testing::golden_path("llama"), half = folder / "half";
    const auto first_stored = [](const std::string& source) {
        const Json facts = facts_of(source);
        return facts.find("stored")->items()[0];
    };
    const Json whole = first_stored(golden);
    EXPECT_EQ(whole.find("dtype")->as_string(), "f32");
    EXPECT_EQ(number(whole, "bytes"), 4 * number(whole, "parameters"));
    expect_success({"convert", golden, half, "--dtype", "bf16", "--max-shard", "50KB"});
    const Json bf16 = first_stored(half);
    EXPECT_EQ(bf16.find("dtype")->as_string(), "bf16");
    EXPECT_EQ(number(bf16, "bytes") * 2, number(whole, "bytes"));
    EXPECT_NE(expect_success({"inspect", half}).out.find("bf16"), std::string::npos);
}

TEST(Inspect, TellsEveryDtypeOfAFile) {
    const testing::TemporaryFolder folder;
    testing::GgufBuilder builder;
    builder.set("general.architecture", "llama").set("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    for (const auto& [key, value] : {std::pair("embedding_length", 32u),
                                     {"feed_forward_length", 64u},
                                     {"block_count", 1u},
                                     {"context_length", 96u},
                                     {"attention.head_count", 4u},
                                     {"attention.head_count_kv", 2u}})
        builder.set(text_of("llama.", key), value);
    const auto matrix = [&](const std::string& name, DType dtype, std::int64_t rows, std::int64_t columns) {
        builder.records.push_back(
            {.name = name + ".weight",
             .dimensions = {static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(rows)},
             .type = testing::GgufBuilder::file_types().at(dtype),
             .data = testing::Bytes(static_cast<std::size_t>(bytes_of(dtype, rows * columns)))});
    };
    matrix("token_embd", DType::F16, 16, 32);
    for (const char* part : {"attn_q", "attn_output"}) matrix(text_of("blk.0.", part), DType::Q8_0, 32, 32);
    for (const char* part : {"attn_k", "attn_v"}) matrix(text_of("blk.0.", part), DType::Q4_0, 16, 32);
    for (const char* part : {"ffn_gate", "ffn_up"}) matrix(text_of("blk.0.", part), DType::Q8_0, 64, 32);
    matrix("blk.0.ffn_down", DType::Q8_0, 32, 64);
    for (const char* norm : {"blk.0.attn_norm.weight", "blk.0.ffn_norm.weight", "output_norm.weight"})
        builder.tensor(norm, Tensor::full({32}, 1));
    builder.write(folder / "model.gguf");
    const Json facts = facts_of(folder / "model.gguf");
    std::string found;
    for (const Json& stored : facts.find("stored")->items())
        found += text_of(stored.find("dtype")->as_string(), " ", number(stored, "tensors"), " ",
                         number(stored, "bytes"), "\n");
    EXPECT_EQ(found, "q8_0 5 8704\nf16 1 1024\nq4_0 2 576\nf32 3 384\n");
    EXPECT_EQ(number(facts, "context"), 96);
    EXPECT_EQ(number(facts, "vocabulary"), 16);
}

// Types that cannot be read are told as they are: with their bytes where their blocks are known.
TEST(Inspect, TellsOfTypesThatCannotBeRead) {
    const testing::TemporaryFolder folder;
    testing::GgufBuilder builder;
    builder.set("general.architecture", "llama").set("llama.attention.layer_norm_rms_epsilon", 1e-5f);
    for (const auto& [key, value] : {std::pair("embedding_length", 256u),
                                     {"feed_forward_length", 256u},
                                     {"block_count", 1u},
                                     {"context_length", 96u},
                                     {"attention.head_count", 4u},
                                     {"attention.head_count_kv", 4u}})
        builder.set(text_of("llama.", key), value);
    builder.tensor("token_embd.weight", Tensor::zeros({16, 256}).to(DType::F16));
    const auto unreadable = [&](const char* name, std::uint32_t type, std::size_t bytes) {
        builder.records.push_back(
            {.name = name, .dimensions = {256, 256}, .type = type, .data = testing::Bytes(bytes)});
    };
    unreadable("blk.0.attn_q.weight", 10, 256 * 84);
    unreadable("blk.0.attn_k.weight", 10, 256 * 84);
    unreadable("blk.0.attn_v.weight", 99, 64);
    builder.write(folder / "model.gguf");
    const std::string file = folder / "model.gguf";
    const Json facts = facts_of(file);
    std::string found;
    for (const Json& stored : facts.find("stored")->items())
        found += text_of(stored.find("dtype")->as_string(), " ", number(stored, "tensors"), " ",
                         stored.find("bytes")->dump(0), " ", stored.find("readable")->as_boolean(), "\n");
    EXPECT_EQ(found, "q2_k 2 43008 false\nf16 1 8192 true\nnumber 99 1 null false\n");
    const std::string text = expect_success({"inspect", file}).out;
    for (const char* part : {"43.0 kB in 2 tensors  (cannot be read)", "? in 1 tensor  (cannot be read)"})
        EXPECT_NE(text.find(part), text.npos) << text;
    const std::string list = expect_success({"inspect", file, "--parameters"}).out;
    for (const char* part : {"blk.0.attn_q.weight", "[256, 256]", "q2_k", "number 99", "4 tensors"})
        EXPECT_NE(list.find(part), list.npos) << list;
    const Json all = Json::parse(expect_success({"inspect", file, "--parameters", "--json"}).out, "list");
    EXPECT_EQ(all.find("tensors")->items()[1].find("dtype")->as_string(), "q2_k");
}

TEST(Inspect, TellsTheContextThatGeneratingKeepsTo) {
    EXPECT_EQ(number(facts_of(testing::golden_path("paligemma")), "context"), 128);
    EXPECT_EQ(number(facts_of(testing::golden_path("vit")), "context"), 0);
}

TEST(Inspect, TellsThatAdaptersStandOverTheirBase) {
    const testing::TemporaryFolder folder;
    const std::string base = testing::golden_path("llama"), adapters = folder / "adapters";
    const auto model = models::load(base);
    const models::AdapterSettings settings{.rank = 3, .alpha = 6, .targets = {"q_proj"}};
    models::attach_adapters(*model, settings, {});
    models::save_adapters(*model, settings, base, adapters);
    const std::string text = expect_success({"inspect", adapters}).out;
    EXPECT_NE(text.find("with adapters of rank 3 on 2 layers"), text.npos) << text;
    EXPECT_NE(text.find(base), text.npos);
    const Json facts = facts_of(adapters);
    EXPECT_EQ(number(*facts.find("adapters"), "layers"), 2);
    EXPECT_EQ(number(*facts.find("adapters"), "most_rank"), 3);
    const Json plain = facts_of(base);
    EXPECT_EQ(plain.find("adapters"), nullptr);
}

TEST(Inspect, TellsOfWeightsThatCannotBeRead) {
    const testing::TemporaryFolder folder;
    std::filesystem::copy(testing::golden_path("llama/config.json"), folder / "config.json");
    folder.write("model.safetensors", "not a header");
    const Json facts = facts_of(folder.path());
    EXPECT_EQ(number(facts.find("stacks")->items()[0], "layers"), 2);
    EXPECT_NE(facts.find("stored_error")->as_string().find("model.safetensors"), std::string::npos);
    EXPECT_NE(expect_success({"inspect", folder.path()}).out.find("cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace tessera
