// Texts that a model writes, where a terminal could obey them.
#include "tessera/cli/terminal/terminal_text.h"

#include <gtest/gtest.h>

#include "cli/program.h"
#include "support/temporary_folder.h"
#include "tessera/formats/json.h"

namespace tessera {
namespace {

using cli::harmless;
using cli::harmless_line;
using cli::TerminalText;
using testing::Answer;

TEST(TerminalTexts, WriteOutWhatATerminalObeys) {
    EXPECT_EQ(harmless("\x1b[31mred\x1b]0;title\x07"), "\\x1b[31mred\\x1b]0;title\\x07");
    EXPECT_EQ(harmless("a\x7f\b\r"), "a\\x7f\\x08\\x0d");
    EXPECT_EQ(harmless("\xc2\x9b"
                       "31m \xc2\x85"),
              "\\x9b31m \\x85");
    EXPECT_EQ(harmless("\xe2\x80\xae"
                       "abc\xe2\x81\xa6"),
              "\\u202eabc\\u2066");
    EXPECT_EQ(harmless(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(TerminalTexts, WriteOutBytesThatAreNoCharacters) {
    // In its 8-bit mode a terminal takes a lone 9b for ESC [.
    EXPECT_EQ(harmless("\x9b"
                       "2J"),
              "\\x9b2J");
    EXPECT_EQ(harmless("\xff\xc2"), "\\xff\\xc2");
    EXPECT_EQ(harmless("\xe2\x80"), "\\xe2\\x80");
    EXPECT_EQ(harmless("\xc0\x9b\xed\xa0\x80"), "\\xc0\\x9b\\xed\\xa0\\x80");
}

TEST(TerminalTexts, KeepWhatIsHarmless) {
    const std::string text = "Zwölf\tBoxkämpfer\n日本語 🐸 👩‍👩‍👧 שלום\u200f\r\n";
    EXPECT_EQ(harmless(text), text);
    EXPECT_EQ(harmless_line("a\tb\n"), "a\\x09b\\x0a");
}

// Byte by byte, as in pieces of any size, the same comes out.
TEST(TerminalTexts, ComeInPieces) {
    const std::string texts[] = {
        "\x1b[2J\xc2\x9b"
        "1m",
        "日本\xe2\x80\xae語🐸",
        "\xff\x9b\xc2",
        "a\r\nb\rc\r",
        "\xf0\x9f\x90",
        "x\xe2\x80"};
    for (const std::string& text : texts)
        for (std::size_t size = 1; size <= 5; ++size) {
            TerminalText pieces(true);
            std::string shown;
            for (std::size_t at = 0; at < text.size(); at += size) shown += pieces.add(text.substr(at, size));
            shown += pieces.finish();
            EXPECT_EQ(shown, harmless(text)) << size;
        }
    TerminalText pieces(true);
    EXPECT_EQ(pieces.add("größe"), "größe");  // nothing whole waits
    EXPECT_EQ(pieces.add("\xc2"), "");
    EXPECT_EQ(pieces.add("\x9b"
                         "x"),
              "\\x9bx");
}

TEST(TerminalTexts, StayAsTheyAreElsewhere) {
    TerminalText file(false);
    EXPECT_EQ(file.add("\x1b[31m\xc2"), "\x1b[31m\xc2");
    EXPECT_EQ(file.finish(), "");
}

// A vocabulary whose tokens are orders.
TEST(TerminalTexts, OfTheProgram) {
    const testing::TemporaryFolder folder;
    const std::string model = folder / "model";
    folder.write("config.json", R"({"model_type": "llama", "vocab_size": 5, "hidden_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 64})");
    testing::expect_success({"init", folder / "config.json", model});
    folder.write("model/tokenizer.json", R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "unk_token": "a", "vocab":
            {"a": 0, "\u001b[31mred": 1, "\u009b2Jc": 2, "\u202eturned": 3, "\rback": 4}}})");
    const std::pair<const char*, std::pair<std::string, std::string>> tokens[] = {
        {"1=100", {"\x1b[31mred", "\\x1b[31mred"}},
        {"2=100",
         {"\xc2\x9b"
          "2Jc",
          "\\x9b2Jc"}},
        {"3=100", {"\xe2\x80\xaeturned", "\\u202eturned"}},
        {"4=100", {"\rback", "\\x0dback"}}};
    for (const auto& [bias, texts] : tokens) {
        const auto& [bytes, shown] = texts;
        for (const std::vector<std::string>& more :
             {std::vector<std::string>{"a"}, {"a", "a a"}, {"a", "--beams", "2"}, {"a", "--echo"}, {"a", "--json"}}) {
            std::vector<std::string> arguments{"generate", model, "-n", "2", "--logit-bias", bias};
            arguments.insert(arguments.end(), more.begin(), more.end());
            const Answer piped = testing::expect_success(arguments), seen = testing::run_on_terminal(arguments);
            // JSON has escapes of its own for controls of ASCII.
            const bool is_json = arguments.back() == "--json", is_ascii = bytes[0] < 0x20 && bytes[0] > 0;
            EXPECT_TRUE((is_json && is_ascii) || piped.out.find(bytes) != std::string::npos) << piped.out;
            EXPECT_EQ(seen.status, 0) << seen.out;
            EXPECT_NE(seen.out.find(is_json ? shown.substr(shown.size() - 2) : shown), std::string::npos) << seen.out;
            EXPECT_EQ(seen.out.find(bytes), std::string::npos) << seen.out;
        }
    }
}

}  // namespace
}  // namespace tessera
