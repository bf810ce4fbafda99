// The editor of a chat without a terminal: keys become texts, texts become rows.
#include <gtest/gtest.h>

#include "tessera/cli/terminal/edited_line.h"
#include "tessera/cli/terminal/text_rows.h"

namespace tessera::cli {
namespace {

using State = EditedLine::State;

std::string after(std::initializer_list<const char*> keys) {
    EditedLine line;
    for (const char* key : keys) EXPECT_EQ(line.press(key), State::Editing) << key;
    return line.text();
}

TEST(EditedLine, HasSeveralLines) {
    EXPECT_EQ(after({"a", "\n", "b", "\033\r", "c"}), "a\nb\nc");
    EXPECT_EQ(after({"a", "\\", "\r", "b"}), "a\nb");
    EditedLine line;
    line.press("a");
    EXPECT_EQ(line.press("\r"), State::Done);
    EXPECT_EQ(line.take(), "a");
    // A backslash elsewhere is a backslash.
    for (const char* key : {"\\", "a", "\033[D"}) line.press(key);
    EXPECT_EQ(line.press("\r"), State::Done);
    EXPECT_EQ(line.take(), "\\a");
}

TEST(EditedLine, MovesFromLineToLineAndThenThroughWhatWasSent) {
    EditedLine line;
    line.press("x");
    line.press("\r");
    line.take();
    line.paste("one\ntwo three\nf\xc3\xb6ur");
    line.press("\033[A");
    EXPECT_EQ(line.cursor(), 8u);  // as far into the line above
    line.press("\033[H");
    EXPECT_EQ(line.cursor(), 4u);
    line.press("\033[F");
    EXPECT_EQ(line.cursor(), 13u);
    line.press("\033[A");
    EXPECT_EQ(line.cursor(), 3u);  // a shorter one
    line.press("\033[A");
    EXPECT_EQ(line.text(), "x");
    line.press("\033[B");
    EXPECT_EQ(line.text(), "one\ntwo three\nf\xc3\xb6ur");
    EXPECT_EQ(line.cursor(), line.text().size());
}

TEST(EditedLine, ErasesWithinALine) {
    EditedLine line;
    line.paste("one\ntwo");
    line.press("\x15");
    EXPECT_EQ(line.text(), "one\n");
    line.press("\x7f");
    EXPECT_EQ(line.text(), "one");
    line.paste("\nmore words");
    line.press("\x17");
    EXPECT_EQ(line.text(), "one\nmore ");
    line.press("\x01");
    line.press("\x0b");
    EXPECT_EQ(line.text(), "one\n");
}

TEST(EditedLine, APasteIsOneTextThatCommandsNothing) {
    EditedLine line;
    line.paste("a\r\nb\rc\td\033[2Je\x03\x7f");
    EXPECT_EQ(line.text(), "a\nb\nc\td[2Je");
    line.press("\033[H");
    line.paste("1");
    EXPECT_EQ(line.text(), "a\nb\n1c\td[2Je");
}

TEST(TextRows, WrapAtTheWidthAndFollowTheCursor) {
    const TextRows rows = rows_of("abcdefghij", 10, "> ", 9);  // six columns beside the prompt
    EXPECT_EQ(rows.rows, (std::vector<std::string>{"> abcdef", "  ghij"}));
    EXPECT_EQ(rows.widths, (std::vector<int>{8, 6}));
    EXPECT_EQ(rows.cursor_row, 1u);
    EXPECT_EQ(rows.cursor_column, 6);
    const TextRows before = rows_of("abcdefghij", 5, "> ", 9);
    EXPECT_EQ(before.cursor_row, 0u);
    EXPECT_EQ(before.cursor_column, 7);
    const TextRows next = rows_of("abcdefghij", 6, "> ", 9);  // on what stands in the next row
    EXPECT_EQ(next.cursor_row, 1u);
    EXPECT_EQ(next.cursor_column, 2);
    EXPECT_EQ(rows_of("abcdef", 6, "> ", 9).cursor_column, 8);  // the last column is free for it
}

TEST(TextRows, WideCharactersAreNotCutAndMarksTakeNoRoom) {
    const TextRows wide = rows_of("日本語", 9, "> ", 8);  // five columns
    EXPECT_EQ(wide.rows, (std::vector<std::string>{"> 日本", "  語"}));
    EXPECT_EQ(wide.cursor_column, 4);
    EXPECT_EQ(rows_of("日本語", 3, "> ", 8).cursor_column, 4);
    const TextRows marked = rows_of(
        "e\xcc\x81"
        "abcd",
        7, "> ", 8);
    EXPECT_EQ(marked.rows.size(), 1u);
    EXPECT_EQ(marked.widths[0], 7);
    EXPECT_EQ(rows_of("\xff\xfe", 2, "> ", 20).rows[0], "> \xef\xbf\xbd\xef\xbf\xbd");
}

TEST(TextRows, LinesBeginRows) {
    const TextRows rows = rows_of("a\n\nb\t", 5, "> ", 20);
    EXPECT_EQ(rows.rows, (std::vector<std::string>{"> a", "  ", "  b    "}));
    EXPECT_EQ(rows.cursor_row, 2u);
    EXPECT_EQ(rows_of("a\nb", 1, "> ", 20).cursor_row, 0u);
    EXPECT_EQ(rows_of("a\nb", 1, "> ", 20).cursor_column, 3);
    EXPECT_EQ(rows_of("a\n", 2, "> ", 20).cursor_row, 1u);
    for (int columns = 1; columns < 8; ++columns) EXPECT_GE(rows_of("日本\t語", 0, "> ", columns).rows.size(), 1u);
}

}  // namespace
}  // namespace tessera::cli
