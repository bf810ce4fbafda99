// Scanners and PCRE2 find the same words, whatever the text.
#include "tessera/tokenizers/stages/splitter.h"

#include <gtest/gtest.h>

#include <random>

#include "support/expect_error.h"
#include "tessera/text/unicode.h"
#include "tessera/text/utf8.h"

namespace tessera::tokenizers {
namespace {

using Matches = std::vector<std::pair<std::size_t, std::size_t>>;

Matches matches(const Splitter& splitter, const std::string& text) {
    Matches found;
    splitter.find(text, [&](std::size_t begin, std::size_t end) { found.emplace_back(begin, end); });
    return found;
}

// The two libraries may know different versions of Unicode.
bool agree_on(char32_t c) {
    static const auto letter = regex_splitter(R"(\p{L})", "letter"), number = regex_splitter(R"(\p{N})", "number");
    std::string text;
    text::append_character(text, c);
    return matches(*letter, text).empty() != text::is_letter(c) && matches(*number, text).empty() != text::is_number(c);
}

// Texts of what patterns ask about: apostrophes and their letters, digits, kinds of space, line ends, other planes.
std::string random_text(std::mt19937& random) {
    static const char32_t interesting[] = {
        '\'',   '\'',   's',     't',     'r',     'e',     'v',      'm',     'l',    'd',    'S',    'L',
        'R',    'E',    ' ',     ' ',     ' ',     '\t',    '\n',     '\r',    '\v',   0x85,   0xA0,   0x2003,
        0x2028, 0x180E, 0x200B,  0x3000,  '0',     '1',     '9',      0xB2,    0x0661, 0x2163, 0xBD,   '!',
        '.',    '-',    '_',     '/',     0x2019,  0x20AC,  'A',      'z',     0xE9,   0x0301, 0x017F, 0x212A,
        0x01C5, 0x02B0, 0x4E2D,  0x3042,  0x0915,  0x093E,  0x0E01,   0x200D,  0,      0x7F,   0xFEFF, 0xFFFD,
        0xE000, 0x0378, 0x10400, 0x1F601, 0x1F1E9, 0x20000, 0x10FFFD, 0x1D7D8, 0x0487, 0x24B6};
    std::string text;
    const std::size_t length = random() % 24;
    for (std::size_t i = 0; i < length; ++i) {
        char32_t c = interesting[random() % std::size(interesting)];
        if (random() % 16 == 0) c = random() % 0x30000;
        if ((c >= 0xD800 && c < 0xE000) || !agree_on(c)) c = 'x';
        text::append_character(text, c);
    }
    return text;
}

class Scanners : public ::testing::TestWithParam<std::string> {};

TEST_P(Scanners, FindWhatTheRegularExpressionFinds) {
    const auto scanner = scanner_splitter(GetParam());
    ASSERT_NE(scanner, nullptr);
    const auto regex = regex_splitter(GetParam(), "pattern");
    std::mt19937 random(7);
    for (int i = 0; i < 20000; ++i) {
        const std::string text = random_text(random);
        ASSERT_EQ(matches(*scanner, text), matches(*regex, text)) << text;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Patterns, Scanners,
    ::testing::Values(
        byte_level_pattern,
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"),
    [](const auto& info) { return "pattern" + std::to_string(info.index); });

TEST(RegexSplitter, SpeaksOnigurumasDialect) {
    const auto words = [](const char* pattern, const std::string& text) {
        return matches(*regex_splitter(pattern, "pattern"), text).size();
    };
    EXPECT_EQ(words(R"(\s)", "\xE1\xA0\x8E"), 0u);  // U+180E is no space
    EXPECT_EQ(words(R"([\s])", "\xC2\x85"), 1u);    // U+0085 is one
    EXPECT_EQ(words(R"(\S+)",
                    "a\xE1\xA0\x8E"
                    "b"),
              1u);
    EXPECT_EQ(words(R"(\w+)", "e\xCC\x81x"), 1u);       // marks belong to words
    EXPECT_EQ(words(R"(\h+)", "xyz0aF"), 1u);           // a hexadecimal digit
    EXPECT_EQ(words(R"(^a)", "a\na\na"), 3u);           // at every line
    EXPECT_EQ(words(R"([a-e&&[^bd]]+)", "abcde"), 3u);  // what both classes hold
    EXPECT_EQ(words(R"([a-e&&[bd]])", "abcde"), 2u);
    EXPECT_EQ(words(R"([a[xy]]+)", "axbya"), 2u);  // a class within a class
    EXPECT_EQ(words(R"([[:digit:]-]+)", "a1-2"), 1u);
    EXPECT_EQ(words(R"([]a]+)", "]a"), 1u);
    EXPECT_EQ(words(R"([\[\]]+)", "a[]"), 1u);
    EXPECT_EQ(words(R"(x*)", "aaxa"), 1u);  // nothing empty
}

TEST(RegexSplitter, SaysWhatIsWrong) {
    for (const std::string& pattern :
         {std::string("(a"), std::string("[a"), std::string("[a&&b]"), std::string(9999, '[')})
        testing::expect_error([&] { regex_splitter(pattern, "tokenizer.json: pre_tokenizer.pattern"); },
                              {"tokenizer.json: pre_tokenizer.pattern: "});
}

}  // namespace
}  // namespace tessera::tokenizers
