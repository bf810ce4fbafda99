// BERT, RoBERTa and Longformer beyond what the goldens hold: padding, older and bare checkpoints, gradients, bad input.
#include "tessera/models/encoder.h"

#include <gtest/gtest.h>

#include <map>

#include "support/expect_error.h"
#include "support/module_check.h"
#include "support/op_case.h"
#include "support/tiny_config.h"
#include "tessera/models/catalog.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/unary.h"
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

const std::string bert = R"({"model_type": "bert", "architectures": ["BertForMaskedLM"], "vocab_size": 30,
    "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
    "max_position_embeddings": 16})";
const std::string roberta = replaced(replaced(bert, "\"bert\"", "\"roberta\""), "Bert", "Roberta");
const std::string longformer = replaced(replaced(replaced(bert, "\"bert\"", "\"longformer\""), "Bert", "Longformer"),
                                        "{", R"({"attention_window": [4, 6], )");
const std::vector<std::string> encoder_families{bert, roberta, longformer};

Tensor encoder_ids(std::vector<std::int64_t> ids, Shape shape) { return Tensor::from(ids, shape); }

// Nine tokens, and five with four of padding.
Batch encoder_batch() {
    return {.input_ids = encoder_ids({5, 6, 7, 8, 9, 10, 11, 12, 13, /**/ 20, 21, 22, 23, 24, 1, 1, 1, 1}, {2, 9}),
            .attention_mask = encoder_ids({1, 1, 1, 1, 1, 1, 1, 1, 1, /**/ 1, 1, 1, 1, 1, 0, 0, 0, 0}, {2, 9}),
            .token_type_ids = encoder_ids({0, 0, 0, 1, 1, 1, 1, 1, 1, /**/ 0, 0, 1, 1, 1, 0, 0, 0, 0}, {2, 9}),
            .global_attention_mask = encoder_ids({1, 0, 0, 0, 0, 0, 1, 0, 0, /**/ 0, 1, 0, 0, 0, 0, 1, 0, 0}, {2, 9})};
}

Tensor encoder_cut(const Tensor& x, std::int64_t row, std::int64_t length) {
    return ops::slice(ops::slice(x, 0, row, row + 1), 1, 0, length);
}

TEST(Encoder, PaddedRowsGiveWhatTheyGiveAlone) {
    const Batch both = encoder_batch();
    for (const std::string& family : encoder_families) {
        const auto model = build(config_of(family));
        randomise(*model);
        const NoGrad no_grad;
        const Tensor logits = model->forward(both);
        for (const auto& [row, length] : {std::pair<std::int64_t, std::int64_t>{0, 9}, {1, 5}}) {
            const Tensor alone =
                model->forward({.input_ids = encoder_cut(both.input_ids, row, length),
                                .token_type_ids = encoder_cut(both.token_type_ids, row, length),
                                .global_attention_mask = encoder_cut(both.global_attention_mask, row, length)});
            EXPECT_LE(relative_error(encoder_cut(logits, row, length), alone), 1e-12) << family;
        }
    }
}

TEST(Encoder, EveryParameterLearns) {
    Batch batch = encoder_batch();
    batch.labels =
        encoder_ids({-100, 3, -100, -100, 8, 9, -100, 2, 29, /**/ 4, -100, 0, -100, 6, -100, -100, -100, -100}, {2, 9});
    for (const std::string& family : encoder_families) {
        const auto model = build(config_of(family));
        randomise(*model);
        for (const bool recompute : {false, true})
            expect_gradients(*model, [&] { return model->loss(batch, {}, {.recompute = recompute}); });
    }
}

TEST(Encoder, AnUntiedHeadHasAMatrixOfItsOwn) {
    const std::string untied = replaced(bert, "{", R"({"tie_word_embeddings": false, )");
    const auto model = build(config_of(untied)), tied = build(config_of(bert));
    EXPECT_EQ(nn::parameter_count(*model), nn::parameter_count(*tied) + 30 * 8);
    randomise(*model);
    Batch batch = encoder_batch();
    batch.labels = batch.input_ids;
    expect_gradients(*model, [&] { return model->loss(batch); });
}

TEST(Encoder, TellsItsObserverWhatPassesBy) {
    const auto model = build(config_of(bert));
    randomise(*model);
    const NoGrad no_grad;
    std::map<std::string, Tensor> seen;
    model->forward(encoder_batch(), {}, [&](const std::string& name, const Tensor& value) { seen[name] = value; });
    ASSERT_EQ(seen.size(), 4u);
    EXPECT_TRUE(same_bits(seen.at("hidden_after_layer_2"), seen.at("last_hidden")));
    EXPECT_FALSE(same_bits(seen.at("hidden_after_layer_1"), seen.at("last_hidden")));
    EXPECT_EQ(seen.at("hidden_after_embed").shape(), (Shape{2, 9, 8}));
}

// Padding between tokens takes no position from those behind it, whatever the mask says.
TEST(Encoder, RobertaCountsThePositionsOfTokensOnly) {
    const auto model = build(config_of(roberta));
    randomise(*model);
    const NoGrad no_grad;
    const auto embedded = [&](const Tensor& ids) {
        Tensor found;
        model->forward({.input_ids = ids}, {}, [&](const std::string& name, const Tensor& value) {
            if (name == "hidden_after_embed") found = value;
        });
        return found;
    };
    const Tensor holed = embedded(encoder_ids({5, 1, 6, 1}, {1, 4})), whole = embedded(encoder_ids({5, 6}, {1, 2}));
    EXPECT_TRUE(same_bits(ops::contiguous(ops::slice(holed, 1, 2, 3)), ops::contiguous(ops::slice(whole, 1, 1, 2))));
    EXPECT_TRUE(same_bits(ops::contiguous(ops::slice(holed, 1, 1, 2)), ops::contiguous(ops::slice(holed, 1, 3, 4))));
}

// A model with random f32 weights and its tensors under the checkpoint's names.
formats::Checkpoint encoder_checkpoint(const std::string& json, std::unique_ptr<Model>& model) {
    model = build(config_of(json));
    randomise(*model, 1, DType::F32);
    nn::set_requires_grad(*model, false);
    formats::Checkpoint checkpoint;
    checkpoint.folder = "folder";
    checkpoint.config = config_of(json);
    for (const auto& [name, tensor] :
         checkpoint_tensors(*model, model->weights, [](const Tensor& value) { return value.detach(); }))
        checkpoint.tensors[name] = tensor;
    return checkpoint;
}

TEST(EncoderCheckpoint, OlderNamesBuffersAndDuplicatesAreUnderstood) {
    std::unique_ptr<Model> model;
    formats::Checkpoint checkpoint = encoder_checkpoint(bert, model);
    formats::TensorMap older;
    for (const auto& [name, tensor] : checkpoint.tensors) {
        std::string old = name;
        if (old.ends_with("LayerNorm.weight")) old = replaced(old, "LayerNorm.weight", "LayerNorm.gamma");
        if (old.ends_with("LayerNorm.bias")) old = replaced(old, "LayerNorm.bias", "LayerNorm.beta");
        older[old] = tensor;
    }
    older["bert.embeddings.position_ids"] = Tensor::arange(16);
    older["bert.pooler.dense.weight"] = Tensor::zeros({8, 8});
    older["bert.pooler.dense.bias"] = Tensor::zeros({8});
    older["cls.predictions.decoder.weight"] = older.at("bert.embeddings.word_embeddings.weight");
    older["cls.predictions.decoder.bias"] = older.at("cls.predictions.bias");
    older["cls.seq_relationship.weight"] = Tensor::zeros({2, 8});
    older["cls.seq_relationship.bias"] = Tensor::zeros({2});
    checkpoint.tensors = older;
    EXPECT_TRUE(same_bits(load(checkpoint)->forward(encoder_batch()), model->forward(encoder_batch())));
}

TEST(EncoderCheckpoint, ABareEncoderGivesHiddenStates) {
    for (const auto& [family, prefix] :
         {std::pair{bert, "bert."}, {roberta, "roberta."}, {longformer, "longformer."}}) {
        std::unique_ptr<Model> model;
        const std::string json = replaced(family, "ForMaskedLM", "Model");
        formats::Checkpoint checkpoint = encoder_checkpoint(json, model);
        const Tensor hidden = model->forward(encoder_batch());
        EXPECT_EQ(hidden.shape(), (Shape{2, 9, 8}));
        EXPECT_TRUE(same_bits(load(checkpoint)->forward(encoder_batch()), hidden)) << "with the prefix";
        formats::TensorMap bare;
        for (const auto& [name, tensor] : checkpoint.tensors) bare[name.substr(std::string(prefix).size())] = tensor;
        bare["embeddings.position_ids"] = Tensor::arange(16);
        bare["pooler.dense.weight"] = Tensor::zeros({8, 8});
        bare["pooler.dense.bias"] = Tensor::zeros({8});
        checkpoint.tensors = bare;
        EXPECT_TRUE(same_bits(load(checkpoint)->forward(encoder_batch()), hidden)) << "without it";
        Batch batch = encoder_batch();
        batch.labels = batch.input_ids;
        expect_error([&] { model->loss(batch); }, {"config.json", "architectures"});
    }
}

TEST(EncoderCheckpoint, WhatIsMissingOrUnknownIsNamed) {
    std::unique_ptr<Model> model;
    formats::Checkpoint checkpoint = encoder_checkpoint(bert, model);
    checkpoint.tensors.erase("cls.predictions.bias");
    checkpoint.tensors["classifier.weight"] = Tensor::zeros({2, 8});
    expect_error([&] { load(checkpoint); },
                 {"folder", "missing (1)", "cls.predictions.bias", "not known to this model (1)", "classifier.weight"});
}

TEST(EncoderConfig, FieldsThatDoNotHoldTogetherAreNamed) {
    const auto refused = [](const std::string& family, const std::string& from, const std::string& to,
                            std::initializer_list<std::string> parts) {
        expect_error([&] { build(config_of(replaced(family, from, to))); }, parts);
    };
    for (const std::string& family : encoder_families) {
        refused(family, R"("num_attention_heads": 2)", R"("num_attention_heads": 3)",
                {"config.json", "num_attention_heads", "8"});
        refused(family, R"("vocab_size": 30)", R"("vocab_size": -30)", {"config.json", "vocab_size", "-30"});
        refused(family, "{", R"({"hidden_act": "softsign", )", {"config.json", "hidden_act", "softsign"});
        refused(family, "{", R"({"position_embedding_type": "relative_key", )", {"position_embedding_type"});
        refused(family, "{", R"({"is_decoder": true, )", {"config.json", "is_decoder"});
        refused(family, "{", R"({"num_key_value_heads": 1, )", {"config.json", "num_attention_heads"});
    }
    refused(roberta, "{", R"({"pad_token_id": 30, )", {"config.json", "pad_token_id", "30"});
    refused(roberta, "{", R"({"pad_token_id": 15, )", {"config.json", "max_position_embeddings", "15"});
    refused(longformer, "[4, 6]", "[4]", {"config.json", "attention_window", "1 windows for 2 layers"});
    refused(longformer, "[4, 6]", "[4, 5]", {"config.json", "attention_window", "5"});
    refused(longformer, "[4, 6]", "7", {"config.json", "attention_window", "7"});
    refused(longformer, "[4, 6]", "\"wide\"", {"config.json", "attention_window", "wide"});
    EXPECT_NO_THROW(build(config_of(replaced(longformer, "[4, 6]", "4"))));
}

TEST(Encoder, RefusesInputsThatDoNotFit) {
    const auto model = build(config_of(bert)), counted = build(config_of(roberta)),
               windows = build(config_of(longformer));
    for (const auto* each : {&model, &counted, &windows}) randomise(**each, 1, DType::F32);
    const NoGrad no_grad;
    const Tensor long_ids = Tensor::full({1, 17}, 3, DType::I64), ids = encoder_ids({3, 4, 5}, {1, 3});
    expect_error([&] { model->forward({.input_ids = long_ids}); }, {"input_ids", "17", "16"});
    expect_error([&] { counted->forward({.input_ids = long_ids}); }, {"input_ids", "17", "14"});
    expect_error([&] { model->forward({.input_ids = Tensor::arange(3)}); }, {"input_ids", "(3)"});
    expect_error(
        [&] {
            model->forward({.input_ids = ids, .attention_mask = Tensor::zeros({1, 2}, DType::I64)});
        },
        {"attention_mask", "(1, 3)", "(1, 2)"});
    expect_error(
        [&] {
            model->forward({.input_ids = ids, .token_type_ids = Tensor::zeros({1, 2}, DType::I64)});
        },
        {"token_type_ids", "(1, 2)"});
    expect_error([&] { model->loss({.input_ids = ids}); }, {"labels", "(1, 3)"});
    expect_error([&] { model->decode(4); }, {"config.json", "bert", "does not generate"});
    expect_error(
        [&] {
            windows->forward({.input_ids = ids, .attention_mask = encoder_ids({0, 1, 1}, {1, 3})});
        },
        {"padding on the right"});
}

// Of the reference: BertForSequenceClassification, RobertaForSequenceClassification,
// LongformerForSequenceClassification.
std::string classifying(const std::string& family) {
    return replaced(replaced(family, "ForMaskedLM", "ForSequenceClassification"), "{", R"({"num_labels": 3, )");
}

TEST(SequenceClassifier, ReadsTheFirstTokenThroughTanh) {
    const NoGrad no_grad;
    for (const std::string& family : encoder_families) {
        const auto model = build(config_of(classifying(family)));
        randomise(*model);
        std::map<std::string, Tensor> part;
        for (const auto& [name, tensor] : nn::parameters(*model)) part.emplace(name, *tensor);
        Batch batch = encoder_batch();
        const Tensor hidden = dynamic_cast<Encoder&>(*model).encode(batch);
        const Tensor first = ops::select(hidden, 1, 0);
        const Tensor summary =
            ops::tanh(ops::linear(first, part.at("classifier.dense.weight"), part.at("classifier.dense.bias")));
        const Tensor expected =
            ops::linear(summary, part.at("classifier.output.weight"), part.at("classifier.output.bias"));
        EXPECT_LE(relative_error(model->forward(batch), expected), 1e-12);
        EXPECT_EQ(expected.shape(), (Shape{2, 3}));
    }
}

TEST(SequenceClassifier, HasTheNamesOfTheReference) {
    const std::vector<std::vector<std::string>> names{
        {"bert.pooler.dense.weight", "bert.pooler.dense.bias", "classifier.weight", "classifier.bias"},
        {"classifier.dense.weight", "classifier.dense.bias", "classifier.out_proj.weight", "classifier.out_proj.bias"},
        {"classifier.dense.weight", "classifier.dense.bias", "classifier.out_proj.weight", "classifier.out_proj.bias"}};
    for (std::size_t i = 0; i < encoder_families.size(); ++i) {
        const auto model = build(config_of(classifying(encoder_families[i])));
        randomise(*model);
        std::map<std::string, Tensor> stored;
        for (const auto& [name, tensor] : checkpoint_tensors(*model, model->weights, [](const Tensor& x) { return x; }))
            stored.emplace(name, tensor);
        for (const std::string& name : names[i]) EXPECT_TRUE(stored.contains(name)) << name;
        for (const auto& [name, tensor] : stored) EXPECT_EQ(name.find("lm_head"), name.npos) << name;
        const auto loaded = build(config_of(classifying(encoder_families[i])));
        load_weights(*loaded, loaded->weights, stored, "checkpoint");
        const NoGrad no_grad;
        EXPECT_TRUE(same_bits(loaded->forward(encoder_batch()), model->forward(encoder_batch())));
    }
}

TEST(SequenceClassifier, EveryParameterLearns) {
    Batch batch = encoder_batch();
    batch.labels = encoder_ids({2, 0}, {2});
    for (const std::string& family : encoder_families) {
        const auto model = build(config_of(classifying(family)));
        randomise(*model);
        expect_gradients(*model, [&] { return model->loss(batch); });
    }
}

// LongformerForSequenceClassification makes the first token a global one where nobody says which are.
TEST(SequenceClassifier, TheFirstTokenSeesAll) {
    const auto model = build(config_of(classifying(longformer)));
    randomise(*model);
    const NoGrad no_grad;
    Batch batch = encoder_batch();
    batch.global_attention_mask = {};
    Batch told = batch;
    told.global_attention_mask = encoder_ids({1, 0, 0, 0, 0, 0, 0, 0, 0, /**/ 1, 0, 0, 0, 0, 0, 0, 0, 0}, {2, 9});
    EXPECT_TRUE(same_bits(model->forward(batch), model->forward(told)));
}

TEST(SequenceClassifier, OtherLossesAndLabelsAreRefused) {
    Batch batch = encoder_batch();
    batch.labels = batch.input_ids;
    const auto model = build(config_of(classifying(bert)));
    randomise(*model);
    expect_error([&] { model->loss(batch); }, {"labels", "(2)", "(2, 9)"});
    const auto other = build(config_of(replaced(classifying(bert), "{", R"({"problem_type": "regression", )")));
    randomise(*other);
    batch.labels = encoder_ids({2, 0}, {2});
    expect_error([&] { other->loss(batch); }, {"problem_type", "regression"});
}

}  // namespace
}  // namespace tessera::models
