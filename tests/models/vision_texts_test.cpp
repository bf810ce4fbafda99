// Where images stand in a prompt, and what texts look like beside them.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/letter_tokenizer.h"
#include "support/temporary_folder.h"
#include "support/tiny_config.h"
#include "tessera/models/architecture.h"
#include "tessera/models/catalog.h"
#include "tessera/models/families/siglip_texts.h"
#include "tessera/models/vision/vision.h"

namespace tessera::models {
namespace {

using testing::config_of;
using testing::expect_error;
using tokenizers::Ids;

// Four patches an image.
const std::string paligemma = R"({"model_type": "paligemma", "image_token_index": 900, "text_config": {},
    "vision_config": {"image_size": 16, "patch_size": 8}})";

PromptTokens prompt(const ImagePrompt& given, const std::string& config = paligemma,
                    const testing::LetterTokenizer& tokenizer = {}) {
    const Config settings = config_of(config);
    return architecture_of(settings).vision->prompt(settings, tokenizer, given);
}

TEST(ImagePrompts, PicturesComeFirstThenBeginningTextAndNewline) {
    EXPECT_EQ(prompt({.text = "ab"}).ids, (Ids{900, 900, 900, 900, 2, 'a', 'b', '\n'}));
    EXPECT_EQ(prompt({.text = ""}).ids, (Ids{900, 900, 900, 900, 2, '\n'}));
    EXPECT_EQ(prompt({.text = "a", .images = 2}).ids, (Ids{900, 900, 900, 900, 900, 900, 900, 900, 2, 'a', '\n'}));
    EXPECT_EQ(prompt({.text = "a"}).types, Ids(7, 0));
}

TEST(ImagePrompts, ATextMaySayWhereImagesStand) {
    EXPECT_EQ(prompt({.text = "<image>ab"}).ids, prompt({.text = "ab"}).ids);
    EXPECT_EQ(prompt({.text = "a<image>b<image>c", .images = 2}).ids,
              (Ids{'a', 900, 900, 900, 900, 'b', 900, 900, 900, 900, 2, 'c', '\n'}));
    expect_error([] { prompt({.text = "<image><image>a"}); }, {"<image>", "2 images", "1"});
    expect_error([] { prompt({.text = "a<image>", .images = 0}); }, {"<image>", "1 images", "0"});
    expect_error([] { prompt({.text = "a", .images = 0}); }, {"image", "none"});
}

TEST(ImagePrompts, AnAnswerIsTheSuffixAndEnds) {
    const PromptTokens tokens = prompt({.text = "a", .answer = "xy"});
    EXPECT_EQ(tokens.ids, (Ids{900, 900, 900, 900, 2, 'a', '\n', 'x', 'y', 1}));
    EXPECT_EQ(tokens.types, (Ids{0, 0, 0, 0, 0, 0, 0, 1, 1, 1}));
}

TEST(ImagePrompts, TheConfigNamesTokensWhereTheTokenizerDoesNot) {
    testing::LetterTokenizer tokenizer;
    tokenizer.special = {};
    const std::string config = testing::replaced(paligemma, R"("text_config": {})",
                                                 R"("text_config": {"bos_token_id": 77, "eos_token_id": 78})");
    EXPECT_EQ(prompt({.text = "", .answer = ""}, config, tokenizer).ids, (Ids{900, 900, 900, 900, 77, '\n', 78}));
}

TEST(ImageTexts, AreCleaned) {
    EXPECT_EQ(canonical_text("  This is:\t a PHOTO,\n\nof a cat! ", true), "this is a photo of a cat");
    EXPECT_EQ(canonical_text("A-b_c 'd'", false), "Abc d");
    EXPECT_EQ(canonical_text("ÄÖ\xc2\xa0Ü \xe2\x80\xa8 ß…", true), "äö ü ß…");
    EXPECT_EQ(canonical_text("", true), "");
    EXPECT_EQ(canonical_text("...", true), "");
    expect_error([] { canonical_text("a\xff", true); }, {"UTF-8"});
}

TEST(ImageTexts, HaveTheLengthOfTheTextTower) {
    const Config config = config_of(R"({"model_type": "siglip", "text_config": {"max_position_embeddings": 5}})");
    const testing::TemporaryFolder folder;
    const testing::LetterTokenizer tokenizer;
    const Vision& vision = *architecture_of(config).vision;
    EXPECT_EQ(vision.texts(config, folder.path(), tokenizer, {"A b!", "abcdefgh", ""}),
              (std::vector<Ids>{{'a', ' ', 'b', 1, 0}, {'a', 'b', 'c', 'd', 1}, {1, 0, 0, 0, 0}}));
    folder.write("tokenizer_config.json", R"({"tokenizer_class": "SiglipTokenizer", "do_lower_case": false})");
    EXPECT_EQ(vision.texts(config, folder.path(), tokenizer, {"A."}), (std::vector<Ids>{{'A', 1, 0, 0, 0}}));
    // The second of the family has a tokenizer that does all of it.
    folder.write("tokenizer_config.json", R"({"tokenizer_class": "GemmaTokenizer"})");
    EXPECT_EQ(vision.texts(config, folder.path(), tokenizer, {"A.", "abcdefgh"}),
              (std::vector<Ids>{{2, 'A', '.', 1, 0}, {2, 'a', 'b', 'c', 1}}));
}

}  // namespace
}  // namespace tessera::models
