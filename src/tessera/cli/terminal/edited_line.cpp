#include "tessera/cli/terminal/edited_line.h"
#include "tessera/text/utf8.h"

#include <algorithm>
#include <utility>

namespace tessera::cli {
namespace {

constexpr char control(char letter) { return static_cast<char>(letter & 0x1f); }

}  // namespace

EditedLine::State EditedLine::press(std::string_view key) {
    if (key.empty()) return State::Editing;
    if (key[0] == '\033') {
        press_escape(key);
        return State::Editing;
    }
    switch (key[0]) {
        case '\r':
            if (cursor_ != text_.size() || !text_.ends_with('\\')) return State::Done;
            erase(before(cursor_), cursor_);
            insert("\n");
            break;
        case control('J'): insert("\n"); break;
        case control('C'): return State::Abandoned;
        case control('D'):
            if (text_.empty()) return State::Ended;
            erase(cursor_, after(cursor_));
            break;
        case control('H'):
        case '\x7f': erase(before(cursor_), cursor_); break;
        case control('A'): cursor_ = line_begin(); break;
        case control('E'): cursor_ = line_end(); break;
        case control('B'): cursor_ = before(cursor_); break;
        case control('F'): cursor_ = after(cursor_); break;
        case control('K'): erase(cursor_, line_end()); break;
        case control('U'): erase(line_begin(), cursor_); break;
        case control('W'): erase(word_before(), cursor_); break;
        case control('P'): move_line(true); break;
        case control('N'): move_line(false); break;
        case '\t': insert(" "); break;
        default:
            if (static_cast<unsigned char>(key[0]) >= 0x20) insert(key);
    }
    return State::Editing;
}

void EditedLine::press_escape(std::string_view key) {
    if (key == "\033\r" || key == "\033\n") insert("\n");
    if (key == "\033[D" || key == "\033OD") cursor_ = before(cursor_);
    if (key == "\033[C" || key == "\033OC") cursor_ = after(cursor_);
    if (key == "\033[A" || key == "\033OA") move_line(true);
    if (key == "\033[B" || key == "\033OB") move_line(false);
    if (key == "\033[H" || key == "\033OH" || key == "\033[1~" || key == "\033[7~") cursor_ = line_begin();
    if (key == "\033[F" || key == "\033OF" || key == "\033[4~" || key == "\033[8~") cursor_ = line_end();
    if (key == "\033[3~") erase(cursor_, after(cursor_));
}

void EditedLine::paste(std::string_view text) {
    std::string clean;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        const bool ends_line = c == '\r' && !(at + 1 < text.size() && text[at + 1] == '\n');
        if (ends_line)
            clean += '\n';
        else if (c == '\n' || c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != '\x7f'))
            clean += c;
    }
    insert(clean);
}

std::string EditedLine::take() {
    std::string line = std::exchange(text_, {});
    if (!line.empty() && (history_.empty() || history_.back() != line)) history_.push_back(line);
    sent_ = history_.size();
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
    while (at > 0 && text::continues_character(text_[--at]))
        ;
    return at;
}

std::size_t EditedLine::after(std::size_t at) const {
    if (at < text_.size()) ++at;
    while (at < text_.size() && text::continues_character(text_[at])) ++at;
    return at;
}

std::size_t EditedLine::word_before() const {
    const auto is_space = [&](std::size_t at) { return text_[at] == ' ' || text_[at] == '\n' || text_[at] == '\t'; };
    std::size_t at = cursor_;
    while (at > 0 && is_space(at - 1)) --at;
    while (at > 0 && !is_space(at - 1)) --at;
    return at;
}

std::size_t EditedLine::line_begin() const {
    const std::size_t end = cursor_ == 0 ? text_.npos : text_.rfind('\n', cursor_ - 1);
    return end == text_.npos ? 0 : end + 1;
}

std::size_t EditedLine::line_end() const { return std::min(text_.find('\n', cursor_), text_.size()); }

void EditedLine::move_line(bool up) {
    const std::size_t begin = line_begin(), end = line_end();
    if (up ? begin == 0 : end == text_.size()) {
        if (!up || sent_ > 0) recall(up ? sent_ - 1 : sent_ + 1);
        return;
    }
    std::size_t column = 0;  // in characters
    for (std::size_t at = begin; at < cursor_; at = after(at)) ++column;
    cursor_ = up ? begin - 1 : end + 1;
    cursor_ = line_begin();
    for (const std::size_t last = line_end(); column > 0 && cursor_ < last; --column) cursor_ = after(cursor_);
}

void EditedLine::recall(std::size_t sent) {
    if (sent > history_.size() || sent == sent_) return;
    if (sent_ == history_.size()) unsent_ = text_;
    sent_ = sent;
    text_ = sent_ == history_.size() ? unsent_ : history_[sent_];
    cursor_ = text_.size();
}

}  // namespace tessera::cli
