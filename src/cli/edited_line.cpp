#include "cli/edited_line.h"

#include <utility>

namespace tessera::cli {
namespace {

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }  // a character of UTF-8

constexpr char control(char letter) { return static_cast<char>(letter & 0x1f); }

}  // namespace

EditedLine::State EditedLine::press(std::string_view key) {
    if (key.empty()) return State::editing;
    if (key[0] == '\033') {
        press_escape(key);
        return State::editing;
    }
    switch (key[0]) {
        case '\r':
        case '\n': return State::done;
        case control('C'): return State::abandoned;
        case control('D'):
            if (text_.empty()) return State::ended;
            erase(cursor_, after(cursor_));
            break;
        case control('H'):
        case '\x7f': erase(before(cursor_), cursor_); break;
        case control('A'): cursor_ = 0; break;
        case control('E'): cursor_ = text_.size(); break;
        case control('B'): cursor_ = before(cursor_); break;
        case control('F'): cursor_ = after(cursor_); break;
        case control('K'): erase(cursor_, text_.size()); break;
        case control('U'): erase(0, cursor_); break;
        case control('W'): erase(word_before(), cursor_); break;
        case control('P'): recall(line_ > 0 ? line_ - 1 : 0); break;
        case control('N'): recall(line_ + 1); break;
        case '\t': insert(" "); break;
        default:
            if (static_cast<unsigned char>(key[0]) >= 0x20) insert(key);
    }
    return State::editing;
}

void EditedLine::press_escape(std::string_view key) {
    if (key == "\033[D" || key == "\033OD") cursor_ = before(cursor_);
    if (key == "\033[C" || key == "\033OC") cursor_ = after(cursor_);
    if (key == "\033[A" || key == "\033OA") recall(line_ > 0 ? line_ - 1 : 0);
    if (key == "\033[B" || key == "\033OB") recall(line_ + 1);
    if (key == "\033[H" || key == "\033OH" || key == "\033[1~" || key == "\033[7~") cursor_ = 0;
    if (key == "\033[F" || key == "\033OF" || key == "\033[4~" || key == "\033[8~") cursor_ = text_.size();
    if (key == "\033[3~") erase(cursor_, after(cursor_));
}

std::string EditedLine::take() {
    std::string line = std::exchange(text_, {});
    if (!line.empty() && (history_.empty() || history_.back() != line)) history_.push_back(line);
    line_ = history_.size();
    cursor_ = 0;
    unsent_.clear();
    return line;
}

void EditedLine::insert(std::string_view piece) {
    text_.insert(cursor_, piece);
    cursor_ += piece.size();
}

void EditedLine::erase(std::size_t begin, std::size_t end) {
    text_.erase(begin, end - begin);
    cursor_ = begin;
}

std::size_t EditedLine::before(std::size_t at) const {
    while (at > 0 && continues(text_[--at]))
        ;
    return at;
}

std::size_t EditedLine::after(std::size_t at) const {
    if (at < text_.size()) ++at;
    while (at < text_.size() && continues(text_[at])) ++at;
    return at;
}

std::size_t EditedLine::word_before() const {
    std::size_t at = cursor_;
    while (at > 0 && text_[at - 1] == ' ') --at;
    while (at > 0 && text_[at - 1] != ' ') --at;
    return at;
}

void EditedLine::recall(std::size_t line) {
    if (line > history_.size() || line == line_) return;
    if (line_ == history_.size()) unsent_ = text_;
    line_ = line;
    text_ = line_ == history_.size() ? unsent_ : history_[line_];
    cursor_ = text_.size();
}

}  // namespace tessera::cli
