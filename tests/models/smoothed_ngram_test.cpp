// N-grams that are counted and smoothed: against formulas worked out by hand, against the table, and on a text.
#include "tessera/models/ngram/smoothed_ngram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "support/goldens.h"
#include "support/module_check.h"
#include "support/op_case.h"
#include "support/temporary_folder.h"
#include "support/tiny_config.h"
#include "tessera/models/catalog.h"
#include "tessera/models/ngram/ngram.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using testing::config_of;
using testing::expect_error;
using testing::same_bits;
using Ids = std::vector<std::int64_t>;

std::string config_text(const std::string& smoothing, std::int64_t order, std::int64_t vocabulary,
                        const std::string& more = "") {
    return text_of(R"({"model_type": "ngram", "smoothing": ")", smoothing, R"(", "order": )", order,
                   R"(, "vocabulary_size": )", vocabulary, more, "}");
}

SmoothedNgram counted(const std::string& config, const Ids& text) {
    SmoothedNgram model(config_of(config));
    model.count(text, true);
    model.estimate();
    return model;
}

// The probabilities after the last of the tokens.
std::vector<double> after(const Model& model, const Ids& tokens) {
    const auto count = static_cast<std::int64_t>(tokens.size());
    const Tensor scores = model.forward({.input_ids = Tensor::from(tokens, {1, count})});
    std::vector<double> row = ops::select(scores, 1, count - 1).to_vector<double>();
    for (double& value : row) value = std::exp(value);
    return row;
}

Ids letters_of(const std::string& text) {
    Ids ids;
    for (const char letter : text) ids.push_back(static_cast<unsigned char>(letter));
    return ids;
}

// A text of some length that is always at hand.
std::string licence() {
    std::ifstream file(testing::source_path("LICENSE"));
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(SmoothedNgram, KneserNeyIsItsFormula) {
    const SmoothedNgram model = counted(config_text("kneser_ney", 2, 3, R"(, "discount": 0.5)"), {0, 1, 0, 2, 0, 1});
    // Below: 0 follows the beginning, 1 and 2; the others follow 0 alone. So 3, 1 and 1 of 5, less 0.5 each, and
    // 0.5 · 3 / 5 spread over 3 tokens: 0.6, 0.2, 0.2.
    // After 0 stood 1 twice and 2 once: 1.5 / 3 and 0.5 / 3, and 0.5 · 2 / 3 of what is below.
    const std::vector<double> row = after(model, {0});
    EXPECT_NEAR(row[0], 0.6 / 3, 1e-6);
    EXPECT_NEAR(row[1], 0.5 + 0.2 / 3, 1e-6);
    EXPECT_NEAR(row[2], 0.5 / 3 + 0.2 / 3, 1e-6);
    // After 1 stood 0 once: 0.5, and 0.5 of what is below.
    EXPECT_NEAR(after(model, {0, 1})[0], 0.5 + 0.5 * 0.6, 1e-6);
}

TEST(SmoothedNgram, DiscountsAreEstimatedFromWhatWasSeenOnceAndTwice) {
    // Of the pairs, 0 1 stands twice; 1 0, 0 2 and 2 0 once: D = 3 / (3 + 2 · 1). Below, 1 and 2 follow one token and 0
    // three: D = 2 / 2, kept at 0.95.
    const SmoothedNgram model = counted(config_text("kneser_ney", 2, 3), {0, 1, 0, 2, 0, 1});
    const double below = 0.05 / 5 + 0.95 * 3 / 5 / 3;
    EXPECT_NEAR(after(model, {0})[1], 1.4 / 3 + 0.6 * 2 / 3 * below, 1e-6);
}

TEST(SmoothedNgram, AddKIsTheTables) {
    const Ids text{0, 1, 0, 2, 0, 1, 3, 0, 1, 1, 0, 1};
    const SmoothedNgram tree = counted(config_text("add_k", 3, 4, R"(, "k": 0.5)"), text);
    Ngram table(config_of(R"({"model_type": "ngram", "smoothing": 0.5, "order": 3, "vocabulary_size": 4})"));
    table.count(text, true);
    table.estimate();
    const NoGrad no_grad;
    for (const Ids& context : {Ids{0, 1}, Ids{1, 3}, Ids{2, 2}, Ids{0, 1, 0, 2}}) {
        const std::vector<double> ours = after(tree, context), theirs = after(table, context);
        for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], theirs[i], 1e-6);
    }
}

TEST(SmoothedNgram, EveryContextGivesADistribution) {
    const Ids text = letters_of(licence());
    for (const char* smoothing : {"add_k", "kneser_ney"})
        for (const std::int64_t order : {1, 2, 5}) {
            const SmoothedNgram model = counted(config_text(smoothing, order, 128), text);
            for (const char* context : {"t", "the ", "qqqq", "License", "~~~"}) {
                double sum = 0;
                for (const double share : after(model, letters_of(context))) {
                    EXPECT_GT(share, 0);
                    sum += share;
                }
                EXPECT_NEAR(sum, 1, 1e-5) << smoothing << " " << order << " " << context;
            }
        }
}

TEST(SmoothedNgram, KneserNeyForetellsHeldOutTextBetterThanAddK) {
    const Ids text = letters_of(licence());
    const auto cut = static_cast<std::ptrdiff_t>(text.size() * 4 / 5);
    const Ids seen(text.begin(), text.begin() + cut), held_out(text.begin() + cut, text.end());
    const auto loss = [&](const std::string& config) {
        const SmoothedNgram model = counted(config, seen);
        return model.loss({.input_ids = Tensor::from(held_out, {1, static_cast<std::int64_t>(held_out.size())})})
            .item();
    };
    for (const std::int64_t order : {3, 4, 6}) {
        const double kneser_ney = loss(config_text("kneser_ney", order, 128));
        for (const char* k : {"1", "0.1", "0.01"})
            EXPECT_LT(kneser_ney, loss(config_text("add_k", order, 128, text_of(R"(, "k": )", k))))
                << order << " " << k;
    }
}

TEST(SmoothedNgram, CountingInPiecesIsCountingAtOnceAndTextsDoNotRunIntoEachOther) {
    const Ids text = letters_of("abracadabra abracadabra"), other = letters_of("banana");
    const std::string config = config_text("kneser_ney", 3, 128);
    SmoothedNgram pieces(config_of(config));
    for (std::size_t i = 0; i < text.size(); ++i) pieces.count({&text[i], 1}, i == 0);
    pieces.count(other, true);
    pieces.estimate();
    SmoothedNgram whole(config_of(config));
    whole.count(text, true);
    whole.estimate();  // what was counted stays
    whole.count(other, true);
    whole.estimate();
    EXPECT_EQ(after(pieces, letters_of("ab")), after(whole, letters_of("ab")));
    // Nothing of "ab" was seen across the texts: "ba" is followed by n alone, after "a" + "ban" there is no context.
    EXPECT_GT(after(whole, letters_of("ba"))['n'], 0.3);
    SmoothedNgram one(config_of(config_text("add_k", 2, 128, R"(, "k": 0)")));
    one.count(letters_of("ab"), true);
    one.count(letters_of("cd"), true);
    one.estimate();
    EXPECT_NEAR(after(one, letters_of("b"))['c'], 1.0 / 128, 1e-9);  // never seen: as probable as any other
}

TEST(SmoothedNgram, DecodingIsForwardAndPackedDocumentsBeginAnew) {
    const SmoothedNgram model = counted(config_text("kneser_ney", 4, 128), letters_of(licence()));
    const Ids text = letters_of("the terms");
    const auto session = model.decode(100);
    const Tensor ids = Tensor::from(text, {1, 9});
    const Tensor scores = model.forward({.input_ids = ids});
    EXPECT_TRUE(same_bits(session->prefill({.input_ids = ops::slice(ids, 1, 0, 4)}), ops::select(scores, 1, 3)));
    EXPECT_TRUE(same_bits(session->step(ops::slice(ids, 1, 4, 9)), ops::select(scores, 1, 8)));
    nn::Context packed;
    packed.mask.first_keys = Tensor::from<std::int64_t>({0, 0, 0, 0, 4, 4, 4, 4, 4}, {1, 9});
    EXPECT_TRUE(same_bits(ops::select(model.forward({.input_ids = ids}, packed, {}), 1, 5),
                          ops::select(model.forward({.input_ids = ops::slice(ids, 1, 4, 9)}), 1, 1)));
}

TEST(SmoothedNgram, SavesAndLoads) {
    SmoothedNgram model = counted(config_text("kneser_ney", 3, 128), letters_of("abracadabra"));
    const testing::TemporaryFolder folder;
    save(model, folder / "ngram");
    const Batch batch{.input_ids = Tensor::from(letters_of("abra"), {1, 4})};
    EXPECT_TRUE(same_bits(load(folder / "ngram")->forward(batch), model.forward(batch)));
    // Without counts it knows nothing.
    const auto fresh = initialised(config_of(config_text("kneser_ney", 3, 128)), 0);
    EXPECT_NEAR(after(*fresh, {1, 2})[5], 1.0 / 128, 1e-9);
}

TEST(SmoothedNgram, WhatDoesNotFitIsAnErrorThatNamesIt) {
    const auto rejects = [](const std::string& json, const std::string& field) {
        expect_error([&] { build(config_of(json)); }, {"config.json", field});
    };
    rejects(config_text("witten_bell", 3, 9), "smoothing");
    rejects(config_text("add_k", 0, 9), "order");
    rejects(config_text("add_k", 33, 9), "order");
    rejects(config_text("add_k", 3, 9, R"(, "k": -1)"), "k");
    rejects(config_text("kneser_ney", 3, 9, R"(, "discount": 1.5)"), "discount");
    SmoothedNgram model(config_of(config_text("kneser_ney", 3, 9)));
    expect_error([&] { model.estimate(); }, {"config.json", "nothing was counted"});
    expect_error([&] { model.count(Ids{9}, true); }, {"9", "vocabulary"});
    ContextTree broken(1, 1);
    broken.set(
        {.tokens = {0}, .children = {1, 7}, .entries = {0, 1}, .rests = {1}, .successors = {500}, .shares = {0}});
    const ContextTree::Reader reader(broken);
    std::vector<double> probabilities(9);
    expect_error([&] { reader.child(0, 3); }, {"contexts", "7"});
    expect_error([&] { reader.refine(0, probabilities); }, {"contexts", "500"});
}

}  // namespace
}  // namespace tessera::models
