// The models that are trained from scratch: recurrent language models, sequence to sequence, autoencoder, classifier.
#include <gtest/gtest.h>

#include <set>

#include "support/expect_error.h"
#include "support/module_check.h"
#include "support/op_case.h"
#include "support/temporary_folder.h"
#include "support/tiny_config.h"
#include "tessera/models/catalog.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using testing::config_of;
using testing::expect_error;
using testing::expect_gradients;
using testing::random_tensor;
using testing::randomise;
using testing::relative_error;
using testing::replaced;

const std::string recurrent = R"({"model_type": "rnn_lm", "cell": "gru", "vocabulary_size": 9, "embedding_width": 5,
    "hidden_width": 6, "layers": 2})";
const std::string seq2seq = R"({"model_type": "bahdanau", "source_vocabulary_size": 9, "target_vocabulary_size": 8,
    "embedding_width": 4, "hidden_width": 5, "attention_width": 3, "layers": 2, "decoder_start_token_id": 1,
    "bidirectional": true})";
const std::string one_way = replaced(seq2seq, "\"bidirectional\": true", "\"dropout\": 0");
const std::string autoencoder = R"({"model_type": "autoencoder", "input_width": 12, "encoder_widths": [7, 3],
    "activation": "gelu"})";
const std::string classifier = R"({"model_type": "mlp_classifier", "input_width": 12, "hidden_widths": [7, 3],
    "classes": 4, "activation": "gelu"})";

Tensor small_ids(std::initializer_list<std::int64_t> ids, Shape shape) {
    return Tensor::from<std::int64_t>(ids, shape);
}
Tensor row_of(const Tensor& x, std::int64_t row) { return ops::slice(x, 0, row, row + 1); }

TEST(RecurrentLanguageModel, EveryParameterOfEveryCellLearns) {
    for (const char* cell : {"rnn", "gru", "lstm"}) {
        const auto model = build(config_of(replaced(recurrent, "gru", cell)));
        randomise(*model);
        expect_gradients(*model, [&] {
            return model->loss({.input_ids = small_ids({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4})});
        });
    }
}

TEST(RecurrentLanguageModel, CachedIsUncachedAndABatchOfDifferentLengthsIsItsRows) {
    const Batch together{.input_ids = small_ids({1, 2, 3, 4, 0, 0, 5, 6}, {2, 4}),
                         .attention_mask = small_ids({1, 1, 1, 1, 0, 0, 1, 1}, {2, 4})};
    const std::vector<Tensor> rows{small_ids({1, 2, 3, 4}, {1, 4}), small_ids({5, 6}, {1, 2})};
    const Tensor next = small_ids({7, 8, 8, 1}, {2, 2});
    for (const char* cell : {"rnn", "gru", "lstm"}) {
        const auto model = build(config_of(replaced(recurrent, "gru", cell)));
        randomise(*model);
        const NoGrad no_grad;
        const auto session = model->decode(8);
        const Tensor scores = model->forward(together), read = session->prefill(together),
                     stepped = session->step(next);
        for (std::int64_t row = 0; row < 2; ++row) {
            const Tensor& ids = rows[static_cast<std::size_t>(row)];
            const std::int64_t count = ids.size(1);
            const Tensor whole = model->forward({.input_ids = ops::concat({ids, row_of(next, row)}, 1)});
            EXPECT_LE(relative_error(ops::slice(row_of(scores, row), 1, 4 - count, 4), ops::slice(whole, 1, 0, count)),
                      1e-12);
            EXPECT_LE(relative_error(row_of(read, row), ops::select(whole, 1, count - 1)), 1e-12);
            EXPECT_LE(relative_error(row_of(stepped, row), ops::select(whole, 1, count + 1)), 1e-12);
        }
        EXPECT_EQ(session->cache_bytes(), 2 * 2 * 6 * 8 * (std::string(cell) == "lstm" ? 2 : 1)) << cell;
    }
}

TEST(RecurrentLanguageModel, WhatDoesNotFitIsAnErrorThatNamesIt) {
    expect_error([&] { build(config_of(replaced(recurrent, "gru", "qrnn"))); }, {"config.json", "cell", "qrnn"});
    expect_error([&] { build(config_of(replaced(recurrent, "9", "-9"))); }, {"config.json", "vocabulary_size"});
    expect_error([&] { build(config_of(replaced(recurrent, "hidden_width", "width"))); },
                 {"config.json", "hidden_width"});
}

TEST(Bahdanau, EveryParameterLearns) {
    for (const std::string& config : {seq2seq, one_way}) {
        const auto model = build(config_of(config));
        randomise(*model);
        const Batch batch{.input_ids = small_ids({1, 2, 3, 4, 5, 6, 0, 0}, {2, 4}),
                          .attention_mask = small_ids({1, 1, 1, 1, 1, 1, 0, 0}, {2, 4}),
                          .labels = small_ids({2, 3, 4, 5, 6, -100}, {2, 3})};
        expect_gradients(*model, [&] { return model->loss(batch); });
    }
}

TEST(Bahdanau, LabelsBehindTheStartTokenAreTheDecodersInput) {
    const auto model = build(config_of(seq2seq));
    randomise(*model);
    const NoGrad no_grad;
    Batch batch{.input_ids = small_ids({1, 2, 3}, {1, 3}), .labels = small_ids({4, 5, 6}, {1, 3})};
    const Tensor shifted = model->forward(batch);
    batch.decoder_input_ids = small_ids({1, 4, 5}, {1, 3});
    EXPECT_LE(relative_error(shifted, model->forward(batch)), 1e-12);
}

void expect_rows_of_a_batch_alone(const Model& model) {
    const NoGrad no_grad;
    const std::vector<Tensor> rows{small_ids({1, 2, 3, 4}, {1, 4}), small_ids({5, 6}, {1, 2})};
    const Tensor target = small_ids({1, 7, 3, 1, 2, 2}, {2, 3});  // from the start token on
    const Tensor left = small_ids({1, 1, 1, 1, 0, 0, 1, 1}, {2, 4}),
                 right = small_ids({1, 1, 1, 1, 1, 1, 0, 0}, {2, 4});
    for (const bool on_the_left : {true, false}) {
        const Batch source{.input_ids = on_the_left ? small_ids({1, 2, 3, 4, 0, 0, 5, 6}, {2, 4})
                                                    : small_ids({1, 2, 3, 4, 5, 6, 0, 0}, {2, 4}),
                           .attention_mask = on_the_left ? left : right};
        const auto session = model.decode(8);
        const Tensor read = session->prefill(source), stepped = session->step(ops::slice(target, 1, 1, 3));
        for (std::int64_t row = 0; row < 2; ++row) {
            const Tensor whole = model.forward(
                {.input_ids = rows[static_cast<std::size_t>(row)], .decoder_input_ids = row_of(target, row)});
            EXPECT_LE(relative_error(row_of(read, row), ops::select(whole, 1, 0)), 1e-12);
            EXPECT_LE(relative_error(row_of(stepped, row), ops::select(whole, 1, 2)), 1e-12);
        }
    }
}

TEST(Bahdanau, DecodingIsForwardAndABatchOfDifferentLengthsIsItsRows) {
    for (const std::string& config : {seq2seq, one_way}) {
        const auto model = build(config_of(config));
        randomise(*model);
        expect_rows_of_a_batch_alone(*model);
    }
}

// The annotation of a word knows what stands on both sides of it; with one direction, on the left only.
TEST(Bahdanau, AnnotationsSeeBothSides) {
    for (const std::string& config : {seq2seq, one_way}) {
        const bool both = config == seq2seq;
        const auto model = build(config_of(config));
        randomise(*model);
        const NoGrad no_grad;
        const auto annotations = [&](std::int64_t first, std::int64_t last) {
            Tensor seen;
            model->forward({.input_ids = small_ids({first, 2, last}, {1, 3})}, {},
                           [&](const std::string&, const Tensor& value) { seen = value; });
            return seen;
        };
        const Tensor base = annotations(1, 3), other_first = annotations(4, 3), other_last = annotations(1, 4);
        EXPECT_EQ(base.shape(), (Shape{1, 3, both ? 10 : 5}));
        const auto changed = [&](const Tensor& other, std::int64_t word) {
            return relative_error(ops::select(other, 1, word), ops::select(base, 1, word)) > 1e-6;
        };
        EXPECT_TRUE(changed(other_first, 1) && changed(other_first, 2) && changed(other_last, 2));
        EXPECT_EQ(changed(other_last, 0), both);
        EXPECT_EQ(changed(other_last, 1), both);
    }
}

// Folders from before there were two directions say nothing of them.
TEST(Bahdanau, FoldersOfEitherKindLoadAsTheyWereSaved) {
    for (const std::string& config : {seq2seq, one_way}) {
        const testing::TemporaryFolder folder;
        const auto model = initialised(config_of(config), 1);
        save(*model, folder / "saved");
        const auto loaded = load(folder / "saved");
        std::set<std::string> names;
        for (const auto& [name, tensor] : nn::parameters(*loaded)) names.insert(name);
        EXPECT_EQ(names.count("encoder.weight_ih_l1_reverse"), config == seq2seq ? 1u : 0u);
        EXPECT_EQ(names.count("first_state.1.weight"), config == seq2seq ? 1u : 0u);
        EXPECT_EQ(names.size(), config == seq2seq ? 35u : 23u);
        const NoGrad no_grad;
        const Batch batch{.input_ids = small_ids({1, 2, 3}, {1, 3}), .labels = small_ids({4, 5, 6}, {1, 3})};
        EXPECT_TRUE(testing::same_bits(loaded->forward(batch), model->forward(batch)));
    }
}

TEST(Bahdanau, WhatDoesNotFitIsAnErrorThatNamesIt) {
    expect_error([&] { build(config_of(replaced(seq2seq, "token_id\": 1", "token_id\": 8"))); },
                 {"config.json", "decoder_start_token_id", "8"});
    expect_error([&] { build(config_of(replaced(seq2seq, "\"layers\": 2", "\"layers\": 0"))); },
                 {"config.json", "layers"});
}

TEST(Autoencoder, EveryParameterLearnsAndTheOutputIsAsWideAsTheInput) {
    const auto model = build(config_of(autoencoder));
    randomise(*model);
    const Batch batch{.pixel_values = random_tensor({3, 1, 3, 4}, 1)};
    expect_gradients(*model, [&] { return model->loss(batch); });
    Tensor code;
    EXPECT_EQ(model->forward(batch, {}, [&](const std::string&, const Tensor& value) { code = value; }).shape(),
              (Shape{3, 12}));
    EXPECT_EQ(code.shape(), (Shape{3, 3}));
}

TEST(MlpClassifier, EveryParameterLearns) {
    const auto model = build(config_of(classifier));
    randomise(*model);
    const Batch batch{.pixel_values = random_tensor({3, 1, 3, 4}, 1), .labels = small_ids({0, 3, 1}, {3})};
    expect_gradients(*model, [&] { return model->loss(batch); });
}

TEST(MlpClassifier, StartsFromAnAutoencodersTensors) {
    const auto pretrained = build(config_of(autoencoder)), model = build(config_of(classifier));
    nn::initialise(*pretrained, {.seed = 1});
    nn::initialise(*model, {.seed = 2});
    const auto keep = [](const Tensor& value) { return value; };
    formats::TensorMap tensors;
    for (const auto& [name, tensor] : checkpoint_tensors(*pretrained, pretrained->weights, keep))
        if (name.starts_with("encoder.")) tensors[name] = tensor;
    for (const auto& [name, tensor] : checkpoint_tensors(*model, model->weights, keep))
        if (!name.starts_with("encoder.")) tensors[name] = tensor;
    load_weights(*model, model->weights, tensors, "both");
    const NoGrad no_grad;
    const Batch batch{.pixel_values = random_tensor({3, 12}, 1, -1, 1, DType::F32)};
    Tensor code, hidden;
    pretrained->forward(batch, {}, [&](const std::string&, const Tensor& value) { code = value; });
    model->forward(batch, {}, [&](const std::string&, const Tensor& value) { hidden = value; });
    EXPECT_TRUE(testing::same_bits(code, hidden));
}

TEST(FlatImages, WhatDoesNotFitIsAnErrorThatNamesIt) {
    expect_error([&] { build(config_of(replaced(autoencoder, "[7, 3]", "[]"))); }, {"config.json", "encoder_widths"});
    expect_error([&] { build(config_of(replaced(autoencoder, "[7, 3]", "[7, 0]"))); },
                 {"config.json", "encoder_widths"});
    expect_error([&] { build(config_of(replaced(classifier, "[7, 3]", "7"))); }, {"config.json", "hidden_widths"});
    const auto model = build(config_of(classifier));
    randomise(*model);
    expect_error([&] { model->forward({}); }, {"pixel_values"});
    expect_error([&] { model->forward({.pixel_values = random_tensor({2, 13}, 1)}); }, {"input_width", "(2, 13)"});
    expect_error([&] { model->loss({.pixel_values = random_tensor({2, 12}, 1)}); }, {"labels"});
}

}  // namespace
}  // namespace tessera::models
