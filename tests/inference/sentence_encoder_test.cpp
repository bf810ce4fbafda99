// Sentence vectors: a text alone and in a batch are the same, pooling is what the folder says, long texts are cut.
#include "tessera/inference/sentence_encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/goldens.h"
#include "support/temporary_folder.h"
#include "support/tiny_text_model.h"
#include "tessera/formats/checkpoint.h"
#include "tessera/models/catalog.h"

namespace tessera::inference {
namespace {

namespace fs = std::filesystem;

const std::string sentence_model = R"({"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 16,
    "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 12})";

class SentenceFolder : public ::testing::Test {
   protected:
    SentenceFolder() {
        const models::OpenedModel model = testing::tiny_text_model(sentence_model, "wordpiece-bert");
        models::save(*model.model, folder_.path());
        fs::copy_file(testing::golden_path("tokenizers/wordpiece-bert/tokenizer.json"), folder_ / "tokenizer.json");
    }
    std::vector<float> embed(const std::vector<std::string>& texts) const {
        const models::OpenedModel model = models::open_model(folder_.path());
        return SentenceEncoder(model).embed(texts).vectors.to_vector<float>();
    }
    testing::TemporaryFolder folder_;
};

TEST_F(SentenceFolder, ATextAloneIsTheSameInABatch) {
    const std::vector<std::string> texts = {"the cat", "a much longer sentence about the dog", "x"};
    const auto all = embed(texts);
    ASSERT_EQ(all.size(), 3u * 16u);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto one = embed({texts[i]});
        double length = 0;
        for (std::size_t k = 0; k < 16; ++k) {
            EXPECT_NEAR(one[k], all[i * 16 + k], 1e-5);
            length += double{one[k]} * one[k];
        }
        EXPECT_NEAR(length, 1, 1e-5);  // normalised unless the folder says otherwise
    }
}

TEST_F(SentenceFolder, PoolsAsTheFolderSays) {
    const auto mean = embed({"the cat sat"});
    folder_.write("1_Pooling/config.json", R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})");
    EXPECT_NE(embed({"the cat sat"}), mean);
}

TEST_F(SentenceFolder, ALongTextLosesItsEnd) {
    const std::string start = "the cat sat on the mat and the dog and";
    std::string longer = start;
    for (int i = 0; i < 30; ++i) longer += " the cat";
    EXPECT_EQ(embed({longer}), embed({longer + " and more"}));
    const auto whole = embed({start});
    folder_.write("sentence_bert_config.json", R"({"max_seq_length": 5})");
    EXPECT_NE(embed({start}), whole);
}

TEST_F(SentenceFolder, SaysHowMuchOfATextWasRead) {
    const models::OpenedModel model = models::open_model(folder_.path());
    const SentenceEncoder encoder(model);
    std::string text = "the";
    int whole = 0, cut = 0;
    for (int words = 1; words < 20; ++words, text += " the") {
        const ReadText read = encoder.embed({text}).read[0];
        const auto tokens = static_cast<std::int64_t>(model.text().encode(text).size());
        EXPECT_EQ(read.tokens, std::min<std::int64_t>(tokens, 12));
        EXPECT_EQ(read.is_truncated, tokens > 12) << tokens;  // one that just fits is whole
        ++(read.is_truncated ? cut : whole);
    }
    EXPECT_GT(whole, 0);
    EXPECT_GT(cut, 0);
}

}  // namespace
}  // namespace tessera::inference
