// T5, BART and Marian beyond what the goldens hold: padding, caches, labels, older checkpoints, gradients, bad input.
#include "tessera/models/encoder_decoder.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support/expect_error.h"
#include "support/module_check.h"
#include "support/op_case.h"
#include "support/tiny_config.h"
#include "tessera/models/catalog.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using testing::config_of;
using testing::expect_error;
using testing::expect_gradients;
using testing::randomise;
using testing::relative_error;
using testing::replaced;
using testing::same_bits;

const std::string t5 = R"({"model_type": "t5", "vocab_size": 30, "d_model": 8, "d_kv": 3, "d_ff": 12, "num_layers": 2,
    "num_decoder_layers": 1, "num_heads": 2, "relative_attention_num_buckets": 4,
    "relative_attention_max_distance": 6})";
const std::string gated_t5 = replaced(t5, "{", R"({"feed_forward_proj": "gated-gelu", "tie_word_embeddings": false, )");
const std::string bart = R"({"model_type": "bart", "vocab_size": 30, "d_model": 8, "encoder_layers": 2,
    "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 4, "encoder_ffn_dim": 12,
    "decoder_ffn_dim": 10, "max_position_embeddings": 12})";
const std::string marian = replaced(replaced(bart, "\"bart\"", "\"marian\""), "{",
                                    R"({"activation_function": "swish", "scale_embedding": true, "pad_token_id": 29,
    "decoder_start_token_id": 29, )");
const std::string two_vocabularies =
    replaced(marian, "{", R"({"share_encoder_decoder_embeddings": false, "decoder_vocab_size": 31, )");
const std::vector<std::string> families{t5, gated_t5, bart, marian, two_vocabularies};

Tensor ids_of(std::vector<std::int64_t> ids, Shape shape) { return Tensor::from(ids, shape); }
Tensor cut(const Tensor& x, std::int64_t row, std::int64_t length) {
    return ops::slice(ops::slice(x, 0, row, row + 1), 1, 0, length);
}

// Seven tokens, and four with three of padding; nine of the decoder's for each.
Batch padded_batch() {
    return {.input_ids = ids_of({5, 6, 7, 8, 9, 10, 11, /**/ 20, 21, 22, 23, 1, 1, 1}, {2, 7}),
            .attention_mask = ids_of({1, 1, 1, 1, 1, 1, 1, /**/ 1, 1, 1, 1, 0, 0, 0}, {2, 7}),
            .decoder_input_ids = ids_of({2, 12, 13, 14, 15, 16, 17, 18, 19, /**/ 2, 3, 4, 5, 6, 7, 8, 9, 10}, {2, 9})};
}

TEST(EncoderDecoder, PaddedRowsGiveWhatTheyGiveAlone) {
    const Batch both = padded_batch();
    for (const std::string& family : families) {
        const auto model = build(config_of(family));
        randomise(*model);
        const NoGrad no_grad;
        const Tensor logits = model->forward(both);
        for (const auto& [row, length] : {std::pair<std::int64_t, std::int64_t>{0, 7}, {1, 4}})
            EXPECT_LE(relative_error(cut(logits, row, 9),
                                     model->forward({.input_ids = cut(both.input_ids, row, length),
                                                     .decoder_input_ids = cut(both.decoder_input_ids, row, 9)})),
                      1e-12)
                << family;
        // What the decoder's mask hides changes nothing before it.
        Batch masked = both;
        masked.decoder_attention_mask = ids_of({1, 1, 1, 1, 1, 1, 0, 0, 0, /**/ 1, 1, 1, 1, 1, 1, 1, 1, 1}, {2, 9});
        EXPECT_LE(relative_error(ops::slice(model->forward(masked), 1, 0, 6), ops::slice(logits, 1, 0, 6)), 1e-12);
    }
}

TEST(EncoderDecoder, CachedStepsGiveTheWholePass) {
    const Batch batch = padded_batch();
    for (const std::string& family : families) {
        const auto model = build(config_of(family));
        randomise(*model);
        const NoGrad no_grad;
        const Tensor whole = model->forward(batch);
        for (const std::int64_t piece : {1, 3}) {
            const std::unique_ptr<DecodingSession> session = model->decode(9);
            for (int again = 0; again < 2; ++again) {  // a second prompt forgets the first
                Batch prompt = batch;
                prompt.decoder_input_ids = ops::slice(batch.decoder_input_ids, 1, 0, 2);
                std::int64_t seen = 2;
                Tensor last = session->prefill(prompt);
                while (true) {
                    EXPECT_LE(relative_error(last, ops::select(whole, 1, seen - 1)), 1e-12) << family << seen;
                    if (seen == 9) break;
                    const std::int64_t next = std::min<std::int64_t>(9, seen + piece);
                    last = session->step(ops::slice(batch.decoder_input_ids, 1, seen, next));
                    seen = next;
                }
            }
            EXPECT_GT(session->cache_bytes(), 0);
        }
    }
}

TEST(EncoderDecoder, BeginsWithTheStartToken) {
    for (const auto& [family, start] : {std::pair<std::string, std::int64_t>{t5, 0}, {bart, 2}, {marian, 29}}) {
        const auto model = build(config_of(family));
        randomise(*model);
        const NoGrad no_grad;
        Batch batch = padded_batch();
        batch.decoder_input_ids = {};
        const Tensor read = model->decode(4)->prefill(batch);
        batch.decoder_input_ids = Tensor::full({2, 1}, static_cast<double>(start), DType::I64);
        EXPECT_LE(relative_error(read, ops::select(model->forward(batch), 1, 0)), 1e-12) << family;
    }
}

TEST(EncoderDecoder, ReadsLabelsShiftedRight) {
    for (const auto& [family, start, padding] :
         {std::tuple<std::string, std::int64_t, std::int64_t>{t5, 0, 0}, {bart, 2, 1}, {marian, 29, 29}}) {
        const auto model = build(config_of(family));
        randomise(*model);
        const NoGrad no_grad;
        Batch batch = padded_batch(), shifted = padded_batch();
        batch.decoder_input_ids = {};
        batch.labels = shifted.labels = ids_of({7, 8, 9, /**/ 10, -100, -100}, {2, 3});
        shifted.decoder_input_ids = ids_of({start, 7, 8, /**/ start, 10, padding}, {2, 3});
        EXPECT_TRUE(same_bits(model->forward(batch), model->forward(shifted))) << family;
        EXPECT_TRUE(same_bits(model->loss(batch), model->loss(shifted))) << family;
        // The mean over the four labels that count.
        const std::vector<double> logits = model->forward(shifted).to_vector<double>();
        const std::vector<std::int64_t> labels = batch.labels.to_vector<std::int64_t>();
        double total = 0;
        for (std::size_t i = 0; i < labels.size(); ++i) {
            if (labels[i] < 0) continue;
            double sum = 0;
            for (std::size_t v = 0; v < 30; ++v) sum += std::exp(logits[i * 30 + v]);
            total += std::log(sum) - logits[i * 30 + static_cast<std::size_t>(labels[i])];
        }
        EXPECT_NEAR(model->loss(batch).item(), total / 4, 1e-9) << family;
    }
}

TEST(EncoderDecoder, EveryParameterLearns) {
    Batch batch = padded_batch();
    batch.labels = ids_of({12, 13, 14, 15, 16, 17, 18, 19, 1, /**/ 3, 4, 5, 6, -100, -100, -100, -100, -100}, {2, 9});
    for (const std::string& family : families) {
        const auto model = build(config_of(family));
        randomise(*model);
        for (const bool recompute : {false, true})
            expect_gradients(
                *model, [&] { return model->loss(batch, {}, {.recompute = recompute}); }, 1e-5);
    }
}

TEST(EncoderDecoder, DropoutIsOnInTrainingOnly) {
    for (const std::string& family : families) {
        const auto model = build(config_of(family));
        randomise(*model);
        const NoGrad no_grad;
        const auto run = [&](bool training, std::uint64_t seed) {
            return model->forward(padded_batch(), {.training = training, .key = {.seed = seed}});
        };
        EXPECT_TRUE(same_bits(run(false, 1), run(false, 2)));
        EXPECT_TRUE(same_bits(run(true, 1), run(true, 1)));
        EXPECT_FALSE(same_bits(run(true, 1), run(true, 2)));
    }
}

// Untied, unscaled; tied, scaled by 1/√width unless the file says otherwise.
TEST(T5, ScalesWhatATiedHeadSees) {
    const auto logits = [](const std::string& json) {
        const auto model = build(config_of(json));
        randomise(*model);
        const NoGrad no_grad;
        return model->forward(padded_batch()).to_vector<double>();
    };
    const auto scaled = logits(t5), plain = logits(replaced(t5, "{", R"({"scale_decoder_outputs": false, )"));
    const auto said = logits(replaced(t5, "{", R"({"scale_decoder_outputs": true, )"));
    for (std::size_t i = 0; i < plain.size(); ++i) {
        EXPECT_NEAR(scaled[i], plain[i] / std::sqrt(8.0), 1e-9);
        EXPECT_EQ(scaled[i], said[i]);
    }
    const auto untied = logits(gated_t5),
               unscaled = logits(replaced(gated_t5, "{", R"({"scale_decoder_outputs": false, )"));
    EXPECT_EQ(untied, unscaled);
}

// sin(position / 10000^(2i / width)) for all i, then the cosines.
TEST(Marian, PositionsAreSinesThenCosines) {
    const auto model = build(config_of(marian));
    randomise(*model, 1, DType::F32);
    for (const auto& [name, tensor] : nn::parameters(*model)) {
        const bool is_norm_weight = name.ends_with("norm.weight");
        tensor->fill(is_norm_weight ? 1 : 0);
    }
    // With nothing else in the stream, a norm over it is what remains of the positions.
    const NoGrad no_grad;
    Tensor states;
    Batch batch = padded_batch();
    batch.attention_mask = {};
    model->forward(batch, {}, [&](const std::string& name, const Tensor& value) {
        if (name == "encoder_last_hidden") states = value;
    });
    const std::vector<double> got = cut(states, 0, 7).to_vector<double>();
    for (std::int64_t position = 0; position < 7; ++position) {
        std::vector<double> row;
        for (int i = 0; i < 8; ++i) {
            const double angle = static_cast<double>(position) / std::pow(10000.0, 2.0 * (i % 4) / 8);
            row.push_back(i < 4 ? std::sin(angle) : std::cos(angle));
        }
        double mean = 0, variance = 0;
        for (const double value : row) mean += value / 8;
        for (const double value : row) variance += (value - mean) * (value - mean) / 8;
        for (std::size_t i = 0; i < 8; ++i)
            EXPECT_NEAR(got[static_cast<std::size_t>(position) * 8 + i], (row[i] - mean) / std::sqrt(variance), 1e-3);
    }
}

// A model with random f32 weights and its tensors under the checkpoint's names.
formats::Checkpoint checkpoint_of(const std::string& json, std::unique_ptr<Model>& model) {
    model = build(config_of(json));
    randomise(*model, 1, DType::F32);
    formats::Checkpoint checkpoint;
    checkpoint.folder = "folder";
    checkpoint.config = config_of(json);
    for (const auto& [name, tensor] :
         checkpoint_tensors(*model, model->weights, [](const Tensor& value) { return value.detach(); }))
        checkpoint.tensors[name] = tensor;
    return checkpoint;
}

void expect_loads_as(const Model& model, const formats::Checkpoint& checkpoint) {
    const NoGrad no_grad;
    EXPECT_TRUE(same_bits(load(checkpoint)->forward(padded_batch()), model.forward(padded_batch())));
}

TEST(EncoderDecoderCheckpoint, DuplicatesOfTheEmbeddingAreUnderstood) {
    std::unique_ptr<Model> model;
    formats::Checkpoint checkpoint = checkpoint_of(t5, model);
    formats::TensorMap& tensors = checkpoint.tensors;
    const Tensor shared = tensors.at("shared.weight");
    tensors["decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"] = Tensor::zeros({4, 2});
    for (const char* name : {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"})
        tensors[name] = shared;
    expect_loads_as(*model, checkpoint);
    tensors.erase("shared.weight");  // writers keep one of several names, not always this one
    expect_loads_as(*model, checkpoint);

    checkpoint = checkpoint_of(marian, model);
    for (const char* name :
         {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"})
        checkpoint.tensors[name] = checkpoint.tensors.at("model.shared.weight");
    for (const char* name : {"model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"})
        checkpoint.tensors[name] = Tensor::zeros({12, 8});
    expect_loads_as(*model, checkpoint);
}

// One of them would be used for all, in silence.
TEST(EncoderDecoderCheckpoint, EmbeddingsThatAreNotSharedAreRefused) {
    for (const std::string& family : {t5, bart, marian}) {
        const std::string prefix = family == t5 ? "" : "model.";
        std::unique_ptr<Model> model;
        formats::Checkpoint checkpoint = checkpoint_of(family, model);
        const Tensor shared = checkpoint.tensors.at(prefix + "shared.weight");
        checkpoint.tensors[prefix + "encoder.embed_tokens.weight"] = shared;
        checkpoint.tensors[prefix + "decoder.embed_tokens.weight"] = shared.clone();
        expect_loads_as(*model, checkpoint);
        checkpoint.tensors[prefix + "decoder.embed_tokens.weight"] = Tensor::zeros(shared.shape());
        expect_error([&] { load(checkpoint); }, {"embed_tokens", "shared", "differs"});
    }
}

TEST(EncoderDecoderCheckpoint, ABareModelLacksPrefixAndLogitsBias) {
    std::unique_ptr<Model> model;
    formats::Checkpoint checkpoint = checkpoint_of(bart, model);
    for (const auto& [name, tensor] : nn::parameters(*model))
        if (name == "logits_bias") tensor->fill(0);
    checkpoint.tensors.erase("final_logits_bias");
    formats::TensorMap bare;
    for (const auto& [name, tensor] : checkpoint.tensors) bare[name.substr(std::string("model.").size())] = tensor;
    checkpoint.tensors = bare;
    expect_loads_as(*model, checkpoint);
}

TEST(EncoderDecoderCheckpoint, TheLogitsBiasCountsButIsNotLearned) {
    std::unique_ptr<Model> model;
    formats::Checkpoint checkpoint = checkpoint_of(bart, model);
    expect_loads_as(*model, checkpoint);
    const auto without = load(checkpoint);
    for (const auto& [name, tensor] : nn::parameters(*without))
        if (name == "logits_bias") *tensor = Tensor::zeros({1, 30});
    const NoGrad no_grad;
    EXPECT_GT(relative_error(without->forward(padded_batch()), model->forward(padded_batch())), 1e-3);
    nn::set_requires_grad(*without, true);
    for (const auto& [name, tensor] : nn::parameters(*without))
        EXPECT_EQ(tensor->requires_grad(), name != "logits_bias") << name;
}

TEST(EncoderDecoderConfig, FieldsThatDoNotHoldTogetherAreNamed) {
    const auto refused = [](const std::string& family, const std::string& from, const std::string& to,
                            std::initializer_list<std::string> parts) {
        expect_error([&] { build(config_of(replaced(family, from, to))); }, parts);
    };
    const std::string file = "config.json";
    refused(t5, R"("relative_attention_num_buckets": 4)", R"("relative_attention_num_buckets": 3)",
            {file, "relative_attention_num_buckets", "3"});
    refused(t5, R"("relative_attention_max_distance": 6)", R"("relative_attention_max_distance": 2)",
            {file, "relative_attention_max_distance", "2"});
    refused(t5, "{", R"({"feed_forward_proj": "gated-softsign", )", {file, "feed_forward_proj", "softsign"});
    refused(t5, "{", R"({"feed_forward_proj": "gated", )", {file, "feed_forward_proj", "gated"});
    refused(t5, "{", R"({"pad_token_id": 30, )", {file, "pad_token_id", "30"});
    refused(t5, "{", R"({"decoder_start_token_id": -1, )", {file, "decoder_start_token_id", "-1"});
    refused(t5, R"("num_heads": 2)", R"("num_heads": 0)", {file, "num_heads", "0"});
    for (const std::string& family : {bart, marian}) {
        refused(family, R"("encoder_attention_heads": 2)", R"("encoder_attention_heads": 3)",
                {file, "encoder_attention_heads", "3 heads"});
        refused(family, R"("decoder_attention_heads": 4)", R"("decoder_attention_heads": 5)",
                {file, "decoder_attention_heads", "5 heads"});
        refused(family, R"("d_model": 8)", R"("d_model": "wide")", {file, "d_model", "wide"});
    }
    refused(bart, "{", R"({"activation_function": "softsign", )", {file, "activation_function", "softsign"});
    refused(bart, "{", R"({"decoder_start_token_id": 30, )", {file, "decoder_start_token_id", "30"});
    refused(marian, "{", R"({"decoder_vocab_size": 31, )", {file, "decoder_vocab_size", "31"});
    refused(two_vocabularies, R"("decoder_vocab_size": 31)", R"("decoder_vocab_size": 20)",
            {file, "pad_token_id", "20"});
}

TEST(EncoderDecoder, RefusesInputsThatDoNotFit) {
    const auto model = build(config_of(bart));
    randomise(*model, 1, DType::F32);
    const NoGrad no_grad;
    const auto refused = [&](const Batch& batch, std::initializer_list<std::string> parts) {
        expect_error([&] { model->forward(batch); }, parts);
    };
    Batch batch = padded_batch();
    batch.input_ids = Tensor::full({2, 13}, 3, DType::I64);
    batch.attention_mask = {};
    refused(batch, {"input_ids", "13", "12"});
    batch = padded_batch();
    batch.decoder_input_ids = Tensor::full({2, 13}, 3, DType::I64);
    refused(batch, {"decoder_input_ids", "13", "12"});
    batch.decoder_input_ids = Tensor::full({1, 3}, 3, DType::I64);
    refused(batch, {"decoder_input_ids", "(2, T)", "(1, 3)"});
    batch.decoder_input_ids = {};
    refused(batch, {"decoder_input_ids", "labels"});
    batch = padded_batch();
    batch.attention_mask = Tensor::full({2, 6}, 1, DType::I64);
    refused(batch, {"attention_mask", "(2, 7)", "(2, 6)"});
    batch = padded_batch();
    batch.decoder_attention_mask = Tensor::full({2, 6}, 1, DType::I64);
    refused(batch, {"decoder_attention_mask", "(2, 9)", "(2, 6)"});
    batch = padded_batch();
    batch.labels = Tensor::full({2, 4}, 1, DType::I64);
    expect_error([&] { model->loss(batch); }, {"labels", "(2, 9)", "(2, 4)"});
    expect_error([&] { model->decode(4)->step(Tensor::full({2, 1}, 1, DType::I64)); }, {"before the prompt"});
    batch = padded_batch();
    batch.decoder_attention_mask = ids_of({1, 1, 1, 1, 1, 1, 1, 1, 0, /**/ 1, 1, 1, 1, 1, 1, 1, 1, 1}, {2, 9});
    expect_error([&] { model->decode(9)->prefill(batch); }, {"decoder_attention_mask", "left"});
    expect_error([&] { model->decode(4)->prefill(padded_batch()); }, {"capacity of 4"});
}

}  // namespace
}  // namespace tessera::models
