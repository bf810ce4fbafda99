// Objectives over text: what is hidden, what is to be predicted, and that a batch depends on its number alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "support/objective_case.h"
#include "tessera/data/token_words.h"
#include "tessera/tensor/tape.h"

namespace tessera::training {
namespace {

using testing::expect_error;
using testing::ObjectiveCase;
using testing::TemporaryFolder;
using testing::values_of;
using Ids = std::vector<std::int64_t>;

// Words of one to seven letters, and sentences.
std::string some_text(int words) {
    std::string text;
    for (int i = 0; i < words; ++i) {
        for (int k = 0; k <= (i * 5) % 7; ++k) text += static_cast<char>('a' + (i * 7 + k * 3) % 26);
        text += i % 6 == 5 ? ". " : " ";
    }
    return text;
}

const std::string encoder = R"("model": {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 12, "max_position_embeddings": 64, "hidden_dropout_prob": 0,
    "attention_probs_dropout_prob": 0})";
const std::string encoder_decoder = R"("model": {"model_type": "t5", "d_model": 8, "d_kv": 4, "d_ff": 12,
    "num_layers": 1, "num_heads": 2, "dropout_rate": 0})";
const std::string recurrent = R"("model": {"model_type": "bahdanau", "hidden_width": 6,
    "decoder_start_token_id": 2})";

std::string recipe(const std::string& model, const std::string& objective, const std::string& data = "\"length\": 32") {
    return "{" + model + R"(, "tokenizer": "characters", "objective": ")" + objective + R"(", "data": {)" + data + "}}";
}

Ids first_examples(std::int64_t count) {
    Ids examples;
    for (std::int64_t i = 0; i < count; ++i) examples.push_back(i);
    return examples;
}

constexpr RandomKey batch_key{3, 4};

void expect_same(const TrainingBatch& a, const TrainingBatch& b) {
    const auto same = [](const Tensor& x, const Tensor& y) {
        ASSERT_EQ(x.defined(), y.defined());
        if (x.defined()) {
            EXPECT_EQ(values_of(x), values_of(y));
        }
    };
    same(a.inputs.input_ids, b.inputs.input_ids);
    same(a.inputs.attention_mask, b.inputs.attention_mask);
    same(a.inputs.labels, b.inputs.labels);
}

TEST(MaskedObjective, SharesAreThoseOfThePaperAndLabelsStandWhereTokensWereChosen) {
    const TemporaryFolder folder;
    folder.write("a.txt", some_text(8000));
    const ObjectiveCase test(folder, recipe(encoder, "masked", R"("length": 32, "mask": 0.2)"), "a.txt");
    const auto objective = test.make();
    const TrainingBatch batch = objective->batch(first_examples(objective->examples()), batch_key);
    const Ids original = test.tokenizer->encode(folder.read("a.txt")), ids = values_of(batch.inputs.input_ids),
              labels = values_of(batch.inputs.labels);
    double chosen = 0, masked = 0, random = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (labels[i] == -100) {
            ASSERT_EQ(ids[i], original[i]);
            continue;
        }
        ASSERT_EQ(labels[i], original[i]);
        ++chosen;
        masked += ids[i] == *test.tokenizer->special.mask;
        random += ids[i] != *test.tokenizer->special.mask && ids[i] != original[i];
        ASSERT_TRUE(ids[i] == *test.tokenizer->special.mask || !test.tokenizer->is_special(ids[i]));
    }
    EXPECT_NEAR(chosen / static_cast<double>(ids.size()), 0.2, 0.01);
    EXPECT_NEAR(masked / chosen, 0.8, 0.015);
    EXPECT_NEAR(random / chosen, 0.1 * 27 / 28, 0.015);  // one in 28 draws the token itself
    const NoGrad no_grad;
    EXPECT_TRUE(std::isfinite(objective->loss(test.model(), objective->batch({0, 1}, batch_key), {}).item()));
}

TEST(MaskedObjective, WordsAreMaskedWhole) {
    const TemporaryFolder folder;
    folder.write("a.txt", some_text(2000));
    const ObjectiveCase test(folder, recipe(encoder, "masked", R"("length": 32, "whole_words": true)"), "a.txt");
    const auto objective = test.make();
    const data::TokenWords words(*test.tokenizer);
    const Ids original = test.tokenizer->encode(folder.read("a.txt"));
    double chosen = 0, all = 0;
    bool long_word = false;
    for (std::int64_t example = 0; example < objective->examples(); ++example) {
        const RandomKey own = batch_key.child(static_cast<std::uint64_t>(example));
        const Ids labels = values_of(objective->batch({example}, own).inputs.labels);
        for (std::size_t i = 0; i < labels.size(); ++i, ++all) {
            chosen += labels[i] != -100;
            const std::size_t at = static_cast<std::size_t>(example) * 32 + i;
            if (i == 0 || !words.joins(original[at - 1], original[at])) continue;
            ASSERT_EQ(labels[i] == -100, labels[i - 1] == -100) << "a word is cut at " << at;
            long_word = long_word || labels[i] != -100;
        }
    }
    EXPECT_TRUE(long_word);
    EXPECT_NEAR(chosen / all, 0.15, 0.03);
}

TEST(MaskedObjective, EveryRowHasSomethingToLearn) {
    const TemporaryFolder folder;
    folder.write("a.txt", some_text(200));
    const ObjectiveCase test(folder, recipe(encoder, "masked", R"("length": 8, "mask": 0.001)"), "a.txt");
    const auto objective = test.make();
    for (std::int64_t example = 0; example < objective->examples(); ++example) {
        const Ids labels = values_of(objective->batch({example}, batch_key).inputs.labels);
        EXPECT_NE(std::count(labels.begin(), labels.end(), -100), 8);
    }
}

// A folder with nothing but tokenizer.json: the tokens are known by their usual names.
TEST(TextObjectives, KnowSpecialTokensByTheirNames) {
    const TemporaryFolder folder;
    folder.write("a.txt", some_text(400));
    const auto with = [&](const std::string& model, const std::string& objective, const std::string& tokenizer) {
        std::string text = recipe(model, objective, "\"length\": 16");
        const std::string made = "\"characters\"", path = testing::golden_path("tokenizers/" + tokenizer);
        return text.replace(text.find(made), made.size(), "\"" + path + "\"");
    };
    const ObjectiveCase words(folder, with(encoder, "masked", "wordpiece-bert"), "a.txt");
    const Ids hidden = values_of(words.make()->batch(first_examples(20), batch_key).inputs.input_ids);
    EXPECT_NE(std::count(hidden.begin(), hidden.end(), *words.tokenizer->id("[MASK]")), 0);
    expect_error([&] { ObjectiveCase(folder, with(encoder_decoder, "span", "unigram-t5"), "a.txt").make(); },
                 {"no <extra_id_0>"});
    folder.write("a.tsv", "a text\tanother\n");
    const ObjectiveCase pieces(folder, with(encoder_decoder, "pairs", "unigram-t5"), "a.tsv");
    const Ids target = values_of(pieces.make()->batch({0}, batch_key).inputs.labels);
    EXPECT_EQ(target.back(), *pieces.tokenizer->id("</s>"));
    EXPECT_EQ(std::count(target.begin(), target.end(), target.back()), 1);
    expect_error([&] { ObjectiveCase(folder, with(encoder, "masked", "byte-level-bpe-gpt2"), "a.txt").make(); },
                 {"no mask token", "masked objective"});
}

TEST(SpanObjective, SourceAndTargetTogetherAreTheText) {
    const TemporaryFolder folder;
    folder.write("a.txt", some_text(400));
    const ObjectiveCase test(folder, recipe(encoder_decoder, "span", R"("length": 40, "noise": 0.3)"), "a.txt");
    const auto objective = test.make();
    const Ids original = test.tokenizer->encode(folder.read("a.txt"));
    const std::int64_t first = *test.tokenizer->id("<extra_id_0>"), end = *test.tokenizer->special.eos;
    // 12 tokens in 4 spans.
    for (std::int64_t example = 0; example < objective->examples(); ++example) {
        const models::Batch batch = objective->batch({example}, batch_key).inputs;
        const Ids source = values_of(batch.input_ids), target = values_of(batch.labels);
        ASSERT_EQ(source.size(), 40u - 12 + 4 + 1);
        ASSERT_EQ(target.size(), 12u + 4 + 1);
        EXPECT_EQ(source.back(), end);
        EXPECT_EQ(target.back(), end);
        EXPECT_EQ(target.front(), first);
        Ids rebuilt;
        for (std::size_t i = 0; i + 1 < source.size(); ++i) {
            if (source[i] < first || source[i] >= first + 4) {
                rebuilt.push_back(source[i]);
                continue;
            }
            auto at = std::find(target.begin(), target.end(), source[i]) + 1;
            ASSERT_LT(at, target.end());
            EXPECT_FALSE(*at >= first && *at < first + 4) << "an empty span";
            for (; *at != source[i] + 1 && *at != end; ++at) rebuilt.push_back(*at);
        }
        const auto begin = original.begin() + example * 40;
        EXPECT_EQ(rebuilt, Ids(begin, begin + 40));
    }
}

// The model reads the labels behind its start token, which is its padding.
TEST(SpanObjective, TheDecoderReadsTheLabelsShiftedByOne) {
    const TemporaryFolder folder;
    folder.write("a.txt", some_text(400));
    const ObjectiveCase test(folder, recipe(encoder_decoder, "span"), "a.txt");
    const auto objective = test.make();
    const TrainingBatch batch = objective->batch({1, 2}, batch_key);
    const std::int64_t count = batch.inputs.labels.size(1);
    Ids shifted = values_of(batch.inputs.labels);
    for (std::size_t i = shifted.size(); i-- > 0;)
        shifted[i] = i % static_cast<std::size_t>(count) == 0 ? 0 : shifted[i - 1];
    models::Batch given = batch.inputs;
    given.decoder_input_ids = Tensor::from(shifted, {2, count});
    const NoGrad no_grad;
    EXPECT_EQ(objective->loss(test.model(), batch, {}).item(), test.model().loss(given).item());
}

// A model that sees what it is to predict learns to repeat it, with a loss that means nothing.
TEST(TextObjectives, AreRefusedForModelsThatSeeTheAnswer) {
    const testing::TemporaryFolder folder;
    folder.write("a.txt", "some text that is long enough for a window or two of sixteen tokens");
    const std::string sizes = R"("hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 12, "max_position_embeddings": 16)";
    const auto refuse = [&](const std::string& model, const char* objective, std::initializer_list<std::string> parts) {
        const ObjectiveCase test(folder,
                                 text_of(R"({"model": {)", model, R"(}, "tokenizer": "characters", "objective": ")",
                                         objective, R"(", "data": {"length": 8}})"),
                                 "a.txt");
        expect_error([&] { test.make(); }, parts);
    };
    refuse(R"("model_type": "bert", )" + sizes, "causal", {"objective", "bert", "masked"});
    refuse(R"("model_type": "t5", "d_model": 8, "d_kv": 4, "d_ff": 12, "num_layers": 1, "num_heads": 2)", "causal",
           {"objective", "t5", "span"});
    refuse(R"("model_type": "llama", )" + sizes, "masked",
           {"objective", "llama", "fill masked tokens", "learns by causal"});
}

TEST(SpanObjective, NeedsSentinelsAndADecoder) {
    const TemporaryFolder folder;
    folder.write("a.txt", some_text(4000));
    expect_error([&] { ObjectiveCase(folder, recipe(encoder, "span"), "a.txt").make(); },
                 {"does not read one text and write another, which span needs; it learns by masked"});
    const TemporaryFolder other;
    other.write("a.txt", some_text(4000));
    const std::string many = R"("length": 1000, "noise": 0.4, "span": 1)";
    expect_error([&] { ObjectiveCase(other, recipe(encoder_decoder, "span", many), "a.txt").make(); },
                 {"400 spans", "<extra_id_100>"});
}

TEST(DenoiseObjective, SpansBecomeOneMaskEachAndNothingElseChanges) {
    const TemporaryFolder folder;
    folder.write("a.txt", some_text(3000));
    const ObjectiveCase test(
        folder, recipe(encoder_decoder, "denoise", R"("length": 50, "noise": 0.3, "permute": false)"), "a.txt");
    const auto objective = test.make();
    const std::int64_t mask = *test.tokenizer->special.mask;
    double masks = 0;
    for (std::int64_t example = 0; example < objective->examples(); ++example) {
        const models::Batch batch =
            objective->batch({example}, batch_key.child(static_cast<std::uint64_t>(example))).inputs;
        const Ids source = values_of(batch.input_ids), target = values_of(batch.labels);
        ASSERT_EQ(target.size(), 50u);
        EXPECT_LE(source.size(), 50u);
        // What stays is a subsequence of the text, 35 of its 50 tokens.
        auto at = target.begin();
        std::int64_t stayed = 0;
        for (const std::int64_t id : source) {
            masks += id == mask;
            if (id == mask) continue;
            ++stayed;
            at = std::find(at, target.end(), id);
            ASSERT_NE(at, target.end());
            ++at;
        }
        EXPECT_EQ(stayed, 35);
    }
    // 15 tokens in spans of 3 on average, the last of which is cut.
    EXPECT_NEAR(masks / static_cast<double>(objective->examples()), 5.4, 0.7);
}

TEST(DenoiseObjective, SentencesChangePlaces) {
    const TemporaryFolder folder;
    folder.write("a.txt", some_text(3000));
    const ObjectiveCase test(folder, recipe(encoder_decoder, "denoise", R"("length": 120, "noise": 0.001)"), "a.txt");
    const auto objective = test.make();
    const TrainingBatch batch = objective->batch(first_examples(8), batch_key);
    const std::int64_t mask = *test.tokenizer->special.mask;
    int moved = 0;
    for (std::size_t row = 0; row < 8; ++row) {
        const models::Batch one = objective->batch({static_cast<std::int64_t>(row)}, batch_key.child(row)).inputs;
        Ids source = values_of(one.input_ids), target = values_of(one.labels);
        const std::string before = test.tokenizer->decode(target), after = test.tokenizer->decode(source);
        moved += before.substr(before.size() - 8) != after.substr(after.size() - 8);
        // One token is hidden; the others are the same ones.
        std::erase(source, mask);
        std::sort(source.begin(), source.end());
        std::sort(target.begin(), target.end());
        EXPECT_EQ(source.size(), target.size() - 1);
        EXPECT_TRUE(std::includes(target.begin(), target.end(), source.begin(), source.end()));
    }
    EXPECT_GE(moved, 4);  // of 8 rows of four or five sentences, the last one
    const NoGrad no_grad;
    EXPECT_TRUE(std::isfinite(objective->loss(test.model(), batch, {}).item()));
}

TEST(TextObjectives, ABatchDependsOnItsExamplesAndItsKeyAlone) {
    for (const char* name : {"masked", "span", "denoise"}) {
        const TemporaryFolder folder;
        folder.write("a.txt", some_text(500));
        const ObjectiveCase test(folder, recipe(name == std::string("masked") ? encoder : encoder_decoder, name),
                                 "a.txt");
        const auto objective = test.make(), resumed = test.make();
        const TrainingBatch batch = objective->batch({3, 1, 4}, batch_key);
        objective->batch({5, 9, 2}, batch_key.child(1));
        expect_same(batch, objective->batch({3, 1, 4}, batch_key));
        expect_same(batch, resumed->batch({3, 1, 4}, batch_key));
        const auto seen = [](const TrainingBatch& any) { return values_of(any.inputs.input_ids); };
        EXPECT_NE(seen(batch), seen(objective->batch({3, 1, 4}, batch_key.child(1)))) << name;
    }
}

// Padding takes no part: the loss of a batch is that of its rows, weighted by what they teach.
TEST(PairsObjective, RowsOfDifferentLengthsLearnAsTheyDoAlone) {
    for (const std::string& model : {encoder_decoder, recurrent}) {
        const TemporaryFolder folder;
        folder.write("a.tsv", "a dog\tein hund\nthe red house\tdas haus, rot\nno\tnein\n");
        const ObjectiveCase test(folder, recipe(model, "pairs"), "a.tsv");
        const auto objective = test.make();
        ASSERT_EQ(objective->examples(), 3);
        const TrainingBatch all = objective->batch({0, 1, 2}, batch_key);
        const Ids mask = values_of(all.inputs.attention_mask), labels = values_of(all.inputs.labels);
        EXPECT_EQ(all.inputs.input_ids.shape(), (Shape{3, 13}));
        EXPECT_EQ(std::count(mask.begin(), mask.begin() + 13, 1), 5);  // "a dog"
        EXPECT_EQ(all.inputs.labels.shape(), (Shape{3, 14}));
        EXPECT_EQ(labels[8], *test.tokenizer->special.eos);
        EXPECT_EQ(std::count(labels.begin(), labels.begin() + 14, -100), 14 - 9);
        const NoGrad no_grad;
        double sum = 0, count = 0;
        for (std::int64_t i = 0; i < 3; ++i) {
            const TrainingBatch one = objective->batch({i}, batch_key);
            const auto taught = static_cast<double>(one.inputs.labels.elements());
            sum += objective->loss(test.model(), one, {}).item() * taught;
            count += taught;
        }
        EXPECT_NEAR(objective->loss(test.model(), all, {}).item(), sum / count, 1e-5);
    }
}

TEST(PairsObjective, LongTextsKeepTheirEnd) {
    const TemporaryFolder folder;
    folder.write("a.tsv", "abcdefgh\thgfedcba\n");
    const ObjectiveCase test(folder, recipe(encoder_decoder, "pairs", "\"length\": 4"), "a.tsv");
    const models::Batch batch = test.make()->batch({0}, batch_key).inputs;
    EXPECT_EQ(test.tokenizer->decode(values_of(batch.input_ids)), "abcd");
    EXPECT_EQ(test.tokenizer->decode(values_of(batch.labels)), "hgf</s>");
}

TEST(LabelsObjective, ClassesAreNumberedByTheTrainingData) {
    const TemporaryFolder folder;
    folder.write("train.tsv", "good\tpositive\nnot so good\tnegative\n");
    folder.write("other.tsv", "fine\tpositive\n");
    folder.write("strange.tsv", "fine\tneutral\n");
    const std::string classifier = R"("model": {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 12, "max_position_embeddings": 16, "num_labels": 2,
        "architectures": ["BertForSequenceClassification"], "hidden_dropout_prob": 0,
        "attention_probs_dropout_prob": 0})";
    const ObjectiveCase test(folder, recipe(classifier, "labels", "\"length\": 16"), "train.tsv");
    const auto objective = test.make();
    EXPECT_EQ(objective->classes(), (std::vector<std::string>{"negative", "positive"}));
    const TrainingBatch both = objective->batch({0, 1}, batch_key);
    EXPECT_EQ(values_of(both.inputs.labels), (Ids{1, 0}));
    EXPECT_EQ(values_of(test.make({(folder / "other.tsv").string()})->batch({0}, batch_key).inputs.labels), (Ids{1}));
    expect_error([&] { test.make({(folder / "strange.tsv").string()})->batch({0}, batch_key); },
                 {"strange.tsv: line 1", "neutral"});
    const NoGrad no_grad;
    const double alone = objective->loss(test.model(), objective->batch({0}, batch_key), {}).item() +
                         objective->loss(test.model(), objective->batch({1}, batch_key), {}).item();
    EXPECT_NEAR(objective->loss(test.model(), both, {}).item(), alone / 2, 1e-6);
    folder.write("many.tsv", "a\tx\nb\ty\nc\tz\n");
    expect_error([&] { ObjectiveCase(folder, recipe(classifier, "labels", "\"length\": 16"), "many.tsv").make(); },
                 {"3 classes", "the model 2"});
}

TEST(TokenizerSpec, EveryCharacterAndEveryByteComesBack) {
    const TemporaryFolder folder;
    folder.write("a.txt", "Grüße, 世界!\n");
    for (const char* kind : {"characters", "bytes"}) {
        const TemporaryFolder own;
        own.write("a.txt", folder.read("a.txt"));
        const std::string text = "{" + encoder + R"(, "tokenizer": ")" + kind + R"(", "objective": "causal"})";
        const ObjectiveCase test(own, text, "a.txt");
        const Ids ids = test.tokenizer->encode("世界 Grüße\n");
        EXPECT_EQ(test.tokenizer->decode(ids), "世界 Grüße\n");
        EXPECT_EQ(ids.size(), kind == std::string("bytes") ? 15u : 9u);
        EXPECT_EQ(test.tokenizer->special.mask, 4);
        EXPECT_EQ(test.tokenizer->size(), kind == std::string("bytes") ? 256 + 5 : 11 + 5);
    }
}

}  // namespace
}  // namespace tessera::training
