// A checkpoint written as llama2.c's export does must come back as it was.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "support/expect_error.h"
#include "support/gguf_builder.h"
#include "support/goldens.h"
#include "support/op_case.h"
#include "tessera/models/catalog.h"
#include "tessera/models/import/llama2c_checkpoint.h"
#include "tessera/models/import/llama2c_tokenizer.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using formats::Checkpoint;
using testing::append;
using testing::Bytes;
using testing::expect_error;

// Row h·D + 2i + j of the file is row h·D + j·D/2 + i of the Hub.
void append_rows(Bytes& file, const Tensor& tensor, std::int64_t rotated_heads) {
    const std::vector<float> values = tensor.to_vector<float>();
    const std::int64_t rows = tensor.size(0), columns = tensor.elements() / rows;
    for (std::int64_t row = 0; row < rows; ++row) {
        std::int64_t source = row;
        if (rotated_heads > 0) {
            const std::int64_t width = rows / rotated_heads;
            source = row / width * width + row % 2 * width / 2 + row % width / 2;
        }
        for (std::int64_t column = 0; column < columns; ++column)
            append(file, values[static_cast<std::size_t>(source * columns + column)]);
    }
}

Bytes as_llama2c(const Checkpoint& checkpoint) {
    const Config& config = checkpoint.config;
    const std::int64_t layers = config.integer("num_hidden_layers"), heads = config.integer("num_attention_heads");
    const std::int64_t kv_heads = config.integer("num_key_value_heads"), context = 10;
    const bool tied = config.boolean("tie_word_embeddings");
    Bytes file;
    for (const std::int64_t size : {config.integer("hidden_size"), config.integer("intermediate_size"), layers, heads,
                                    kv_heads, config.integer("vocab_size") * (tied ? 1 : -1), context})
        append(file, static_cast<std::int32_t>(size));
    const auto add = [&](const std::string& name, std::int64_t rotated_heads = 0) {
        append_rows(file, checkpoint.tensors.at(name + ".weight"), rotated_heads);
    };
    const auto add_layers = [&](const char* name, std::int64_t rotated_heads = 0) {
        for (std::int64_t layer = 0; layer < layers; ++layer)
            add(text_of("model.layers.", layer, ".", name), rotated_heads);
    };
    add("model.embed_tokens");
    add_layers("input_layernorm");
    add_layers("self_attn.q_proj", heads);
    add_layers("self_attn.k_proj", kv_heads);
    add_layers("self_attn.v_proj");
    add_layers("self_attn.o_proj");
    add_layers("post_attention_layernorm");
    add_layers("mlp.gate_proj");
    add_layers("mlp.down_proj");
    add_layers("mlp.up_proj");
    add("model.norm");
    const std::int64_t frequencies = context * config.integer("hidden_size") / heads / 2;
    for (std::int64_t i = 0; i < 2 * frequencies; ++i) append(file, 0.5f);
    if (!tied) add("lm_head");
    return file;
}

Checkpoint parsed(const Bytes& bytes) {
    const auto owner = std::make_shared<Bytes>(bytes);
    return parse_llama2c(*owner, owner, "test.bin");
}

Checkpoint golden() { return formats::open_checkpoint(testing::golden_path("llama")); }

TEST(Llama2c, TheGoldenComesBackAsItsFolder) {
    const Checkpoint folder = golden(), found = parsed(as_llama2c(folder));
    ASSERT_EQ(found.tensors.size(), folder.tensors.size());
    for (const auto& [name, tensor] : folder.tensors)
        EXPECT_EQ(found.tensors.at(name).to_vector<float>(), tensor.to_vector<float>()) << name;
    for (const char* field : {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                              "num_key_value_heads", "vocab_size"})
        EXPECT_EQ(found.config.integer(field), folder.config.integer(field)) << field;
    EXPECT_EQ(build(found.config)->context_length(), found.config.integer("max_position_embeddings"));
    const NoGrad no_grad;
    const Batch batch{.input_ids = Tensor::from({std::int64_t{1}, std::int64_t{20}, std::int64_t{7}}, {1, 3})};
    EXPECT_LE(testing::relative_error(load(found)->forward(batch), load(folder)->forward(batch)), 1e-6);
}

TEST(Llama2c, FewerKeyHeadsAndATiedHead) {
    Checkpoint folder = golden();
    formats::Json json = folder.config.json();
    folder.config = Config(json.set("num_key_value_heads", 2).set("tie_word_embeddings", true), "test");
    folder.tensors.erase("lm_head.weight");
    for (auto& [name, tensor] : folder.tensors)
        if (name.find("k_proj") != std::string::npos || name.find("v_proj") != std::string::npos)
            tensor = ops::slice(tensor, 0, 0, 32);
    const Checkpoint found = parsed(as_llama2c(folder));
    EXPECT_TRUE(found.config.boolean("tie_word_embeddings"));
    ASSERT_EQ(found.tensors.size(), folder.tensors.size());
    for (const auto& [name, tensor] : folder.tensors)
        EXPECT_EQ(found.tensors.at(name).to_vector<float>(), tensor.to_vector<float>()) << name;
}

TEST(Llama2c, BadSizesAreNamed) {
    const Bytes file = as_llama2c(golden());
    const auto changed = [&](std::size_t field, std::int32_t value) {
        Bytes bytes = file;
        std::memcpy(bytes.data() + 4 * field, &value, 4);
        return bytes;
    };
    const auto refused = [](const Bytes& bytes, std::initializer_list<std::string> parts) {
        expect_error([&] { parsed(bytes); }, {"test.bin"});
        expect_error([&] { parsed(bytes); }, parts);
    };
    const char* names[] = {"dim", "hidden_dim", "n_layers", "n_heads", "n_kv_heads", "vocab_size", "seq_len"};
    for (std::size_t field = 0; field < 7; ++field) refused(changed(field, 0), {names[field], "0"});
    for (const std::size_t field : {0, 1, 2, 3, 4, 6}) refused(changed(field, -3), {names[field], "-3"});
    refused(changed(3, 5), {"n_heads", "64", "5 heads"});
    refused(changed(4, 3), {"n_kv_heads", "3"});
    refused(changed(0, 0x616b3432), {"ak42"});
    refused(changed(0, 1 << 30), {"token_embedding_table"});
    refused(changed(1, 0x7fffffff), {"w1"});
    refused(changed(2, 0x7fffffff), {"rms_att_weight"});
    refused(changed(5, 0x7fffffff), {"token_embedding_table"});
    refused(changed(5, std::numeric_limits<std::int32_t>::min()), {"token_embedding_table"});
    refused(changed(6, 0x7fffffff), {"freq_cis_real"});
    refused(changed(5, 223), {"bytes are left"});  // said to be tied, with a head in the file
    refused(changed(6, 9), {"bytes are left"});
}

TEST(Llama2c, EveryLengthButTheRightOneIsRefused) {
    const Bytes file = as_llama2c(golden());
    for (const std::size_t length : {0ul, 3ul, 27ul, 28ul, 32ul, 1000ul, file.size() - 4, file.size() - 1})
        expect_error([&] { parsed(Bytes(file.begin(), file.begin() + static_cast<long>(length))); }, {"test.bin"});
    Bytes longer = file;
    append(longer, 1.0f);
    expect_error([&] { parsed(longer); }, {"test.bin", "4 bytes are left"});
}

TEST(Llama2cTokenizer, ReadsToTheEnd) {
    Bytes file;
    append(file, std::int32_t{5});
    for (const std::string token : {"<unk>", "", "ab"}) {
        append(file, -0.5f * static_cast<float>(token.size()));
        append(file, static_cast<std::int32_t>(token.size()));
        for (const char c : token) append(file, c);
    }
    const Llama2cTokenizer tokenizer = parse_llama2c_tokenizer(file, "test.bin");
    EXPECT_EQ(tokenizer.longest, 5);
    EXPECT_EQ(tokenizer.tokens, (std::vector<std::string>{"<unk>", "", "ab"}));
    EXPECT_EQ(tokenizer.scores, (std::vector<float>{-2.5f, 0, -1}));
    for (std::size_t cut = 1; cut < 8; ++cut)
        expect_error([&] { parse_llama2c_tokenizer(std::span(file).first(file.size() - cut), "test.bin"); },
                     {"test.bin", "token 2"});
    const auto refused = [&](std::size_t place, std::int32_t value, std::initializer_list<std::string> parts) {
        Bytes bytes = file;
        std::memcpy(bytes.data() + place, &value, 4);
        expect_error([&] { parse_llama2c_tokenizer(bytes, "test.bin"); }, parts);
    };
    refused(0, 0, {"test.bin", "max_token_length"});
    refused(8, -1, {"test.bin", "token 0", "-1"});
    refused(8, 6, {"test.bin", "token 0", "6"});
}

}  // namespace
}  // namespace tessera::models
