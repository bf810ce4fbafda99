#include "tessera/text/unicode.h"

#include <gtest/gtest.h>

#include "tessera/text/base64.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/stages/byte_level.h"

namespace tessera::text {
namespace {

TEST(Utf8, RepairsTheLongestBrokenParts) {
    EXPECT_EQ(repaired_utf8("abc"), "abc");
    EXPECT_EQ(repaired_utf8("a\xFFz"), "a\xEF\xBF\xBDz");
    EXPECT_EQ(repaired_utf8("\xF0\x9F\x98"), "\xEF\xBF\xBD");  // one part
    EXPECT_EQ(repaired_utf8("\xF0\x9F\x98z"), "\xEF\xBF\xBDz");
    EXPECT_EQ(repaired_utf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // a surrogate
    EXPECT_EQ(repaired_utf8("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");                  // too long a form
    EXPECT_TRUE(is_valid_utf8(std::string_view("\0\xF4\x8F\xBF\xBF", 5)));
    EXPECT_FALSE(is_valid_utf8("\xF4\x90\x80\x80"));
}

TEST(Utf8, RepairsBitByBitTheSame) {
    const std::string broken = "x\xF0\x9F\x98\x81\xE2\x82y\xC3\xFF\xED\xA0\x80\xF0\x9F";
    Utf8Repair repair;
    std::string out;
    for (const char byte : broken) {
        repair.add({&byte, 1}, out);
        EXPECT_TRUE(is_valid_utf8(out));
    }
    repair.finish(out);
    EXPECT_EQ(out, repaired_utf8(broken));
}

TEST(Unicode, HasTheFourNormalForms) {
    EXPECT_EQ(normal_form("e\xCC\x81 abc caf\xC3\xA9", NormalForm::C), "\xC3\xA9 abc caf\xC3\xA9");
    EXPECT_EQ(normal_form("caf\xC3\xA9", NormalForm::D), "cafe\xCC\x81");
    EXPECT_EQ(normal_form("\xEF\xAC\x81 \xC2\xBD", NormalForm::KC),
              "fi 1\xE2\x81\x84"
              "2");
    EXPECT_EQ(normal_form("\xEF\xAC\x81", NormalForm::C), "\xEF\xAC\x81");
    EXPECT_EQ(normal_form("\xED\x95\x9C", NormalForm::D), "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB");
    EXPECT_EQ(normal_form("\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", NormalForm::C), "\xED\x95\x9C");
    // Marks in canonical order: below before above.
    EXPECT_EQ(normal_form("a\xCC\x81\xCC\x96", NormalForm::D), "a\xCC\x96\xCC\x81");
}

TEST(Unicode, PutsAMillionMarksInOrderInTime) {
    std::string marks;
    for (int i = 0; i < 500'000; ++i) marks += "\xCC\x81\xCC\x96";
    EXPECT_EQ(normal_form(marks, NormalForm::C).size(), marks.size());
}

TEST(Unicode, LowersCase) {
    EXPECT_EQ(lower_case("ABC \xC3\x84 \xCE\xA3"), "abc \xC3\xA4 \xCF\x83");
    EXPECT_EQ(lower_case("\xC4\xB0"), "i\xCC\x87");
}

TEST(Unicode, KnowsKindsOfCharacters) {
    EXPECT_TRUE(is_punctuation('$') && is_punctuation('_') && is_punctuation(0x3002));
    EXPECT_FALSE(is_punctuation('a') || is_punctuation(' ') || is_punctuation(0x7F) || is_punctuation(0x20AC));
    EXPECT_FALSE(is_punctuation(0x061D));  // of Unicode 14
    EXPECT_TRUE(is_control(0x200B) && is_control(0xE000) && is_control(0));
    EXPECT_FALSE(is_control(0x0378));  // not assigned
    EXPECT_TRUE(is_word_character('_') && is_word_character(0x0301) && is_word_character(0x24B6));
    EXPECT_FALSE(is_word_character(0xB2) || is_word_character('-'));
    EXPECT_TRUE(is_space(0x85) && is_space(0x3000));
    EXPECT_FALSE(is_space(0x180E) || is_space(0x200B));
}

TEST(ByteLevel, WritesEveryByteAndReadsItBack) {
    std::string bytes;
    for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
    const std::string written = tokenizers::to_byte_characters(bytes);
    EXPECT_TRUE(is_valid_utf8(written));
    EXPECT_EQ(tokenizers::from_byte_characters(written), bytes);
    EXPECT_EQ(tokenizers::to_byte_characters(" "), "\xC4\xA0");
    EXPECT_EQ(tokenizers::from_byte_characters("\xE2\x96\x81"), std::nullopt);
}

TEST(Base64, ReadsAndRefuses) {
    EXPECT_EQ(from_base64("aGVsbG8="), "hello");
    EXPECT_EQ(from_base64("/w=="), "\xFF");
    EXPECT_EQ(from_base64(""), "");
    EXPECT_EQ(from_base64("aGVsbG8"), std::nullopt);
    EXPECT_EQ(from_base64("a*=="), std::nullopt);
}

}  // namespace
}  // namespace tessera::text
