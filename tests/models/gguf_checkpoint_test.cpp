// Checkpoints are written as GGUF the way the reference converter does (names, permuted rows, shifted norms, stacked
// experts) and must come back as they were.
#include "tessera/models/import/gguf_checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/expect_error.h"
#include "support/gguf_builder.h"
#include "support/goldens.h"
#include "support/op_case.h"
#include "support/temporary_folder.h"
#include "tessera/models/catalog.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/rope_frequencies.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using formats::Checkpoint;
using formats::Json;
using testing::expect_error;
using testing::GgufBuilder;

std::string replaced_if_there(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string file_name(std::string name, const std::string& architecture) {
    const bool sandwich = architecture == "gemma2" || architecture == "gemma3";
    const std::pair<const char*, const char*> parts[] = {
        {"model.layers.", "blk."},
        {"model.embed_tokens", "token_embd"},
        {"model.norm", "output_norm"},
        {"lm_head", "output"},
        {"input_layernorm", "attn_norm"},
        {"post_attention_layernorm", sandwich ? "post_attention_norm" : "ffn_norm"},
        {"pre_feedforward_layernorm", "ffn_norm"},
        {"post_feedforward_layernorm", "post_ffw_norm"},
        {"self_attn.q_proj", "attn_q"},
        {"self_attn.k_proj", "attn_k"},
        {"self_attn.v_proj", "attn_v"},
        {"self_attn.o_proj", "attn_output"},
        {"self_attn.qkv_proj", "attn_qkv"},
        {"self_attn.q_norm", "attn_q_norm"},
        {"self_attn.k_norm", "attn_k_norm"},
        {"mlp.gate_up_proj", "ffn_up"},
        {"mlp.gate_proj", "ffn_gate"},
        {"mlp.up_proj", "ffn_up"},
        {"mlp.down_proj", "ffn_down"},
        {"block_sparse_moe.gate", "ffn_gate_inp"},
    };
    for (const auto& [from, to] : parts) name = replaced_if_there(name, from, to);
    return name;
}

// Row h·D + 2i + j of the file is row h·D + j·D/2 + i of the Hub.
Tensor with_neighbouring_pairs(const Tensor& weight, std::int64_t heads) {
    const std::int64_t width = weight.size(0) / heads;
    std::vector<Tensor> rows;
    for (std::int64_t row = 0; row < weight.size(0); ++row) {
        const std::int64_t head = row / width, i = row % width / 2, j = row % 2;
        const std::int64_t source = head * width + j * width / 2 + i;
        rows.push_back(ops::slice(weight, 0, source, source + 1));
    }
    return ops::concat(rows, 0);
}

struct Written {
    DType matrices = DType::F32;  // of matrices whose rows are whole blocks
};

void write_metadata(GgufBuilder& builder, const Config& config, const std::string& architecture) {
    const auto size = [&](const char* key, const char* field) {
        builder.set(text_of(architecture, ".", key), static_cast<std::uint32_t>(config.integer(field)));
    };
    const Config rope = config.section("rope_parameters");
    builder.set("general.architecture", architecture);
    size("embedding_length", "hidden_size");
    size("feed_forward_length", "intermediate_size");
    size("block_count", "num_hidden_layers");
    size("context_length", "max_position_embeddings");
    size("attention.head_count", "num_attention_heads");
    size("attention.head_count_kv", "num_key_value_heads");
    if (config.has("head_dim")) size("attention.key_length", "head_dim");
    if (config.has("sliding_window")) size("attention.sliding_window", "sliding_window");
    if (config.has("num_local_experts")) {
        size("expert_count", "num_local_experts");
        size("expert_used_count", "num_experts_per_tok");
    }
    for (const char* field : {"attn_logit_softcapping", "final_logit_softcapping"})
        if (config.has(field)) builder.set(text_of(architecture, ".", field), static_cast<float>(config.number(field)));
    builder.set(text_of(architecture, ".attention.layer_norm_rms_epsilon"),
                static_cast<float>(config.number("rms_norm_eps")));
    builder.set(text_of(architecture, ".rope.freq_base"),
                static_cast<float>(rope.has("full_attention") ? rope.section("full_attention").number("rope_theta")
                                                              : rope.number("rope_theta")));
    builder.set("tokenizer.ggml.bos_token_id", std::uint32_t{1}).set("tokenizer.ggml.eos_token_id", std::uint32_t{2});
}

void write_experts(GgufBuilder& builder, const Checkpoint& checkpoint, const Written& how) {
    for (std::int64_t layer = 0; layer < checkpoint.config.integer("num_hidden_layers"); ++layer)
        for (const auto& [theirs, ours] : {std::pair("w1", "gate"), {"w2", "down"}, {"w3", "up"}}) {
            std::vector<Tensor> experts;
            for (std::int64_t e = 0; e < checkpoint.config.integer("num_local_experts"); ++e) {
                const Tensor& one = checkpoint.tensors.at(
                    text_of("model.layers.", layer, ".block_sparse_moe.experts.", e, ".", theirs, ".weight"));
                experts.push_back(ops::reshape(one, {1, one.size(0), one.size(1)}));
            }
            builder.tensor(text_of("blk.", layer, ".ffn_", ours, "_exps.weight"),
                           ops::concat(experts, 0).to(how.matrices));
        }
}

GgufBuilder as_gguf(const Checkpoint& checkpoint, const std::string& architecture, const Written& how = {}) {
    GgufBuilder builder;
    write_metadata(builder, checkpoint.config, architecture);
    for (const auto& [name, tensor] : checkpoint.tensors) {
        if (name.find(".experts.") != std::string::npos) continue;
        Tensor value = tensor;
        if (architecture == "llama" && name.find("self_attn.q_proj") != std::string::npos)
            value = with_neighbouring_pairs(value, checkpoint.config.integer("num_attention_heads"));
        if (architecture == "llama" && name.find("self_attn.k_proj") != std::string::npos)
            value = with_neighbouring_pairs(value, checkpoint.config.integer("num_key_value_heads"));
        if (architecture.starts_with("gemma") && name.ends_with("norm.weight"))
            value = testing::map(value, [](double x) { return x + 1; }).to(DType::F32);
        if (value.rank() == 2 && value.size(1) % info(how.matrices).block_elements == 0) value = value.to(how.matrices);
        builder.tensor(file_name(name, architecture), value);
    }
    if (checkpoint.config.has("num_local_experts")) write_experts(builder, checkpoint, how);
    return builder;
}

// A small model of any family with random weights, as its checkpoint.
Checkpoint random_checkpoint(const std::string& json) {
    Checkpoint out{.folder = "random",
                   .config = Config(Json::parse(json, "random"), "random"),
                   .generation_config = {},
                   .tensors = {}};
    const auto model = build(out.config);
    std::uint64_t seed = 1;
    for (const auto& [name, parameter] : nn::parameters(*model))
        *parameter = testing::random_tensor(parameter->shape(), seed++, -0.2, 0.2, DType::F32);
    for (auto& [name, tensor] : checkpoint_tensors(*model, model->weights, [](const Tensor& value) { return value; }))
        out.tensors.emplace(name, tensor);
    return out;
}

std::string family(const std::string& type, const std::string& more = "") {
    return R"({"model_type": ")" + type + R"(", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 128,
        "rms_norm_eps": 0.0078125, "vocab_size": 50, "tie_word_embeddings": false,
        "rope_parameters": {"rope_type": "default", "rope_theta": 5000.0})" +
           more + "}";
}

void expect_same_tensors(const Checkpoint& found, const Checkpoint& expected, double tolerance) {
    ASSERT_EQ(found.tensors.size(), expected.tensors.size());
    for (const auto& [name, tensor] : expected.tensors) {
        ASSERT_TRUE(found.tensors.contains(name)) << name;
        EXPECT_EQ(found.tensors.at(name).shape(), tensor.shape()) << name;
        if (tolerance == 0)
            EXPECT_EQ(found.tensors.at(name).to_vector<float>(), tensor.to_vector<float>()) << name;
        else
            EXPECT_LE(testing::relative_error(found.tensors.at(name).to(DType::F32), tensor), tolerance) << name;
    }
}

Tensor scores(const Checkpoint& checkpoint) {
    const NoGrad no_grad;
    const std::vector<std::int64_t> ids{3, 14, 15, 9, 26, 5, 35, 8, 9, 7, 9, 32};
    return load(checkpoint)->forward({.input_ids = Tensor::from(ids, {2, 6})});
}

TEST(GgufCheckpoint, TheGoldenComesBackAsItsFolder) {
    const Checkpoint folder = formats::open_checkpoint(testing::golden_path("llama"));
    const Checkpoint found = gguf_checkpoint(as_gguf(folder, "llama").parse());
    expect_same_tensors(found, folder, 0);
    for (const char* field :
         {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "head_dim",
          "num_key_value_heads", "vocab_size", "max_position_embeddings", "bos_token_id", "eos_token_id"})
        EXPECT_EQ(found.config.integer(field), folder.config.integer(field)) << field;
    EXPECT_EQ(build(found.config)->context_length(), 128);
    EXPECT_EQ(found.config.text("model_type"), "llama");
    EXPECT_EQ(found.config.text("dtype"), "float32");
    EXPECT_FALSE(found.config.boolean("tie_word_embeddings"));
    EXPECT_EQ(found.config.source(), "test.gguf");
    EXPECT_EQ(found.generation_config.integer("eos_token_id"), 2);
    EXPECT_LE(testing::relative_error(scores(found), scores(folder)), 1e-6);
}

TEST(GgufCheckpoint, TheGoldenQuantised) {
    const Checkpoint folder = formats::open_checkpoint(testing::golden_path("llama"));
    const Checkpoint found = gguf_checkpoint(as_gguf(folder, "llama", {.matrices = DType::Q8_0}).parse());
    EXPECT_EQ(found.tensors.at("model.layers.1.self_attn.q_proj.weight").dtype(), DType::Q8_0);
    EXPECT_EQ(found.tensors.at("model.layers.1.mlp.down_proj.weight").dtype(), DType::F32);  // rows of 112
    EXPECT_EQ(found.config.text("dtype"), "float32");
    // Exactly the weights rounded to q8_0: the permutation moved whole rows.
    Checkpoint rounded = folder;
    for (auto& [name, tensor] : rounded.tensors)
        if (tensor.rank() == 2 && tensor.size(1) % 32 == 0) tensor = tensor.to(DType::Q8_0).to(DType::F32);
    expect_same_tensors(found, rounded, 0);
    EXPECT_LE(testing::relative_error(scores(found), scores(rounded)), 1e-5);
    EXPECT_LE(testing::relative_error(scores(found), scores(folder)), 0.03);
}

TEST(GgufCheckpoint, EveryFamilyComesBack) {
    struct Family {
        const char *type, *architecture, *more;
    };
    for (const auto& [type, architecture, more] :
         {Family{"llama", "llama", ""},
          {"mistral", "llama", R"(, "sliding_window": 4)"},
          {"mixtral", "llama", R"(, "num_local_experts": 4, "num_experts_per_tok": 2)"},
          {"qwen2", "qwen2", ""},
          {"qwen3", "qwen3", ""},
          {"gemma", "gemma", R"(, "hidden_act": "gelu_pytorch_tanh")"},
          {"gemma2", "gemma2",
           R"(, "sliding_window": 4, "attn_logit_softcapping": 20.0, "final_logit_softcapping": 10.0,
               "query_pre_attn_scalar": 16)"},
          {"phi3", "phi3", ""}}) {
        SCOPED_TRACE(type);
        const Checkpoint expected = random_checkpoint(family(type, more));
        const bool shifted = std::string(architecture).starts_with("gemma");
        const Checkpoint found = gguf_checkpoint(as_gguf(expected, architecture).parse());
        EXPECT_EQ(found.config.text("model_type"), type);
        expect_same_tensors(found, expected, shifted ? 1e-6 : 0);
        EXPECT_LE(testing::relative_error(scores(found), scores(expected)), 1e-5);
        for (const DType dtype : {DType::Q8_0, DType::Q5_1})
            EXPECT_LE(testing::relative_error(
                          scores(gguf_checkpoint(as_gguf(expected, architecture, {.matrices = dtype}).parse())),
                          scores(expected)),
                      dtype == DType::Q8_0 ? 0.03 : 0.2);
    }
}

TEST(GgufCheckpoint, LayersWithAWindowHaveFrequenciesOfTheirOwn) {
    std::string json = family("gemma3_text", R"(, "sliding_window": 3, "query_pre_attn_scalar": 16)");
    json =
        replaced_if_there(json, R"("num_hidden_layers": 2)", R"("num_hidden_layers": 6)");  // the sixth sees everything
    json = replaced_if_there(json, R"({"rope_type": "default", "rope_theta": 5000.0})",
                             R"({"full_attention": {"rope_type": "default", "rope_theta": 5000.0},
                        "sliding_attention": {"rope_type": "default", "rope_theta": 300.0}})");
    const Checkpoint expected = random_checkpoint(json);
    GgufBuilder builder = as_gguf(expected, "gemma3");
    const Checkpoint found = gguf_checkpoint(builder.set("gemma3.rope.freq_base_swa", 300.0f).parse());
    expect_same_tensors(found, expected, 1e-6);
    EXPECT_LE(testing::relative_error(scores(found), scores(expected)), 1e-5);
}

TEST(GgufCheckpoint, TiedWhereTheHeadIsMissing) {
    const Checkpoint expected = random_checkpoint(
        replaced_if_there(family("llama"), R"("tie_word_embeddings": false)", R"("tie_word_embeddings": true)"));
    ASSERT_FALSE(expected.tensors.contains("lm_head.weight"));
    const Checkpoint found = gguf_checkpoint(as_gguf(expected, "llama").parse());
    EXPECT_TRUE(found.config.boolean("tie_word_embeddings"));
    EXPECT_LE(testing::relative_error(scores(found), scores(expected)), 1e-5);
    const Checkpoint blocks = gguf_checkpoint(as_gguf(expected, "llama", {.matrices = DType::Q8_0}).parse());
    EXPECT_LE(testing::relative_error(scores(blocks), scores(expected)), 0.03);
}

TEST(GgufCheckpoint, SixteenBitFilesComputeInTheirDtype) {
    const Checkpoint expected = random_checkpoint(family("llama"));
    for (const auto& [dtype, name] : {std::pair(DType::BF16, "bfloat16"), {DType::F16, "float16"}}) {
        const Checkpoint found = gguf_checkpoint(as_gguf(expected, "llama", {.matrices = dtype}).parse());
        EXPECT_EQ(found.config.text("dtype"), name);
        for (const auto& [tensor_name, tensor] : found.tensors) EXPECT_EQ(tensor.dtype(), dtype) << tensor_name;
    }
    GgufBuilder mixed = as_gguf(expected, "llama", {.matrices = DType::Q8_0});
    mixed.records.erase(std::find_if(mixed.records.begin(), mixed.records.end(),
                                     [](const auto& record) { return record.name == "token_embd.weight"; }));
    mixed.tensor("token_embd.weight", expected.tensors.at("model.embed_tokens.weight").to(DType::F16));
    const Checkpoint found = gguf_checkpoint(mixed.parse());
    EXPECT_EQ(found.tensors.at("model.embed_tokens.weight").dtype(), DType::F32);
    EXPECT_LE(testing::relative_error(scores(found), scores(expected)), 0.03);
}

TEST(GgufCheckpoint, RotaryScalingIsFoundFromItsDivisors) {
    const Checkpoint checkpoint = random_checkpoint(family("llama"));
    for (const std::int64_t length : {16, 64, 8192}) {
        GgufBuilder builder = as_gguf(checkpoint, "llama");
        const auto frequencies = [&](const ops::RopeScaling& scaling) {
            return ops::rope_frequencies(16, 5000, scaling).inverse_frequencies.to_vector<float>();
        };
        const std::vector<float> plain = frequencies({});
        std::vector<float> divisors =
            frequencies({.kind = ops::RopeScalingKind::ByWavelength, .factor = 8, .original_length = length});
        for (std::size_t i = 0; i < plain.size(); ++i) divisors[i] = plain[i] / divisors[i];
        builder.tensor("rope_freqs.weight", Tensor::from(divisors, {8}));
        const Config rope = gguf_checkpoint(builder.parse()).config.section("rope_parameters");
        EXPECT_EQ(rope.text("rope_type"), "llama3");
        EXPECT_NEAR(rope.number("factor"), 8, 1e-4);
        // Another length may give the same frequencies; the file cannot tell them apart, and nothing else counts.
        const std::vector<float> expected =
            frequencies({.kind = ops::RopeScalingKind::ByWavelength, .factor = 8, .original_length = length});
        const std::vector<float> found =
            frequencies({.kind = ops::RopeScalingKind::ByWavelength,
                         .factor = rope.number("factor"),
                         .original_length = rope.integer("original_max_position_embeddings")});
        for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], expected[i] * 2e-4);
    }
    GgufBuilder odd = as_gguf(checkpoint, "llama");
    odd.tensor("rope_freqs.weight", Tensor::from({1.0f, 3.0f, 1.0f, 5.0f, 1.0f, 1.0f, 2.0f, 1.0f}, {8}));
    expect_error([&] { gguf_checkpoint(odd.parse()); }, {"test.gguf", "rope_freqs.weight"});
    GgufBuilder few = as_gguf(checkpoint, "llama");
    few.tensor("rope_freqs.weight", Tensor::full({3}, 1));
    expect_error([&] { gguf_checkpoint(few.parse()); }, {"test.gguf", "rope_freqs.weight", "8", "(3)"});
}

TEST(GgufCheckpoint, RotaryScalingInTheMetadata) {
    GgufBuilder builder = as_gguf(random_checkpoint(family("qwen2")), "qwen2");
    builder.set("qwen2.rope.scaling.type", "yarn").set("qwen2.rope.scaling.factor", 4.0f);
    builder.set("qwen2.rope.scaling.original_context_length", std::uint32_t{32});
    builder.set("qwen2.rope.dimension_count", std::uint32_t{8});
    const Config rope = gguf_checkpoint(builder.parse()).config.section("rope_parameters");
    EXPECT_EQ(rope.text("rope_type"), "yarn");
    EXPECT_EQ(rope.number("factor"), 4);
    EXPECT_EQ(rope.integer("original_max_position_embeddings"), 32);
    EXPECT_EQ(rope.number("partial_rotary_factor"), 0.5);
    EXPECT_EQ(rope.number("rope_theta"), 5000);
}

TEST(GgufCheckpoint, SeveralEndsOfText) {
    GgufBuilder builder = as_gguf(random_checkpoint(family("llama")), "llama");
    const Checkpoint found = gguf_checkpoint(builder.set("tokenizer.ggml.eot_token_id", std::uint32_t{7}).parse());
    EXPECT_EQ(found.generation_config.integers("eos_token_id"), (std::vector<std::int64_t>{2, 7}));
}

TEST(GgufCheckpoint, WhatIsNotUnderstoodIsNamed) {
    const Checkpoint checkpoint = random_checkpoint(family("llama"));
    const auto refused = [](const GgufBuilder& builder, std::initializer_list<std::string> parts) {
        expect_error([&] { load(gguf_checkpoint(builder.parse())); }, {"test.gguf"});
        expect_error([&] { load(gguf_checkpoint(builder.parse())); }, parts);
    };
    refused(GgufBuilder(), {"general.architecture", "missing"});
    refused(GgufBuilder().set("general.architecture", "mamba"), {"general.architecture", "'mamba'"});
    refused(GgufBuilder().set("general.architecture", "llama"), {"llama.", "missing"});
    refused(as_gguf(checkpoint, "llama").set("split.count", std::uint16_t{3}), {"split.count", "3"});
    const Tensor more = Tensor::zeros({4, 64});
    for (const char* name : {"blk.0.odd.weight", "blk.attn_q.weight", "blk.x.attn_q.weight", "blk.", "more.weight"}) {
        GgufBuilder builder = as_gguf(checkpoint, "llama");
        builder.tensor(name, more);
        refused(builder, {name, "llama"});
    }
    GgufBuilder flat = as_gguf(checkpoint, "llama");
    flat.tensor("blk.0.ffn_gate_exps.weight", more);
    refused(flat, {"blk.0.ffn_gate_exps.weight", "(4, 64)"});
    GgufBuilder uneven = as_gguf(checkpoint, "llama");
    uneven.tensor("blk.2.attn_q.weight", Tensor::zeros({5, 64}));
    refused(uneven, {"blk.2.attn_q.weight", "(5, 64)", "4 heads"});
    GgufBuilder whole = as_gguf(checkpoint, "llama");
    whole.tensor("blk.0.attn_q.bias", Tensor::zeros({64}, DType::I32));
    refused(whole, {"blk.0.attn_q.bias", "i32"});
}

std::string bytes_of(const GgufBuilder& builder) {
    const testing::Bytes bytes = builder.build();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(GgufCheckpoint, UnreadableTypesAreAllListedAndTheConfigIsStillRead) {
    const testing::TemporaryFolder folder;
    GgufBuilder builder = as_gguf(random_checkpoint(family("llama")), "llama");
    const formats::Json whole = config_named(folder.write("whole.gguf", bytes_of(builder))).json();
    std::size_t changed = 0;
    for (testing::GgufRecord& record : builder.records)
        if (record.name.ends_with("ffn_up.weight") || record.name == "token_embd.weight")
            record.type = changed++ == 0 ? 10 : 99;
    ASSERT_GT(changed, 2u);
    expect_error([&] { gguf_checkpoint(builder.parse()); },
                 {"test.gguf", "q2_k (1 tensor)", "number 99 (", "there are: f32, f16", "q6_k"});
    EXPECT_EQ(config_named(folder.write("odd.gguf", bytes_of(builder))).json(), whole);
}

TEST(GgufCheckpoint, AQuantisedVectorIsNamed) {
    GgufBuilder builder = as_gguf(random_checkpoint(family("llama")), "llama");
    for (testing::GgufRecord& record : builder.records)
        if (record.name == "blk.0.attn_norm.weight") record.type = 2;
    expect_error([&] { load(gguf_checkpoint(builder.parse())); },
                 {"test.gguf", "input_layernorm.weight", "q4_0", "only matrices"});
}

}  // namespace
}  // namespace tessera::models
