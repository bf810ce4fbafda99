#include "tessera/jinja/lexer.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "tessera/core/error.h"
#include "tessera/jinja/code_points.h"
#include "tessera/jinja/string_literal.h"

namespace tessera::jinja {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80); }
bool is_all_space(std::string_view text) { return strip_left(text).empty(); }

std::string with_plain_line_ends(const std::string& source) {
    std::string text;
    text.reserve(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
        if (source[i] != '\r')
            text += source[i];
        else if (i + 1 == source.size() || source[i + 1] != '\n')
            text += '\n';
    }
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

class Lexer {
   public:
    explicit Lexer(const std::string& source) : source_(with_plain_line_ends(source)), rest_(source_) {}

    Token next() {
        while (found_.empty())
            if (inside_)
                go_on_inside();
            else
                go_on();
        Token token = std::move(found_.front());
        found_.pop_front();
        return token;
    }

   private:
    [[noreturn]] void fail_here(std::string_view what) const { fail("line ", line_, ": ", what); }

    void push(TokenKind kind, std::string text) { found_.push_back({kind, std::move(text), line_}); }

    // Outside tags: to the next one.
    void go_on() {
        const std::size_t tag = next_tag();
        if (tag == std::string::npos) {
            data(rest_.substr(at_), std::string::npos);
            at_ = source_.size();
            return push(TokenKind::End, {});
        }
        const char kind = source_[tag + 1];
        if (kind == '#')
            comment(tag);
        else if (kind == '%' && raw_begins(tag))
            raw(tag);
        else
            begin_tag(tag, kind == '%');
    }

    void go_on_inside() {
        skip_space();
        if (at_ == source_.size()) fail_here(is_block_ ? "a tag has no %}" : "a tag has no }}");
        if (brackets_.empty() && end_of_tag(is_block_))
            inside_ = false;
        else
            token();
    }

    void move_to(std::size_t place) {
        line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                             source_.begin() + static_cast<std::ptrdiff_t>(place), '\n'));
        at_ = place;
    }

    std::size_t next_tag() const {
        for (std::size_t at = source_.find('{', at_); at != std::string::npos; at = source_.find('{', at + 1))
            if (at + 1 < source_.size() && (source_[at + 1] == '%' || source_[at + 1] == '{' || source_[at + 1] == '#'))
                return at;
        return std::string::npos;
    }

    char sign_at(std::size_t place) const {
        return place < source_.size() && (source_[place] == '-' || source_[place] == '+') ? source_[place] : 0;
    }

    // Text before a tag whose sign stands at `tag` + 2; white space may go.
    void data(std::string_view text, std::size_t tag) {
        if (tag != std::string::npos) {
            const char sign = sign_at(tag + 2);
            if (sign == '-') {
                text = strip_right(text);
            } else if (sign != '+' && source_[tag + 1] != '{') {
                const std::size_t last = text.rfind('\n');
                const std::size_t begin = last == std::string_view::npos ? 0 : last + 1;
                if ((begin > 0 || line_starting_) && is_all_space(text.substr(begin))) text = text.substr(0, begin);
            }
        }
        if (!text.empty()) push(TokenKind::Data, std::string(text));
    }

    // Past "%}" or "#}" at `place`, with the sign before it, and what it takes from the text after it.
    void close(std::size_t place, char sign) {
        std::size_t end = place + 2;
        if (sign == '-')
            end = source_.size() - strip_left(rest_.substr(end)).size();
        else if (sign != '+' && end < source_.size() && source_[end] == '\n')
            ++end;
        line_starting_ = source_[end - 1] == '\n';
        move_to(end);
    }

    void comment(std::size_t tag) {
        data(rest_.substr(at_, tag - at_), tag);
        move_to(tag);
        const std::size_t begin = tag + 2 + (sign_at(tag + 2) != 0);
        const std::size_t end = source_.find("#}", begin);
        if (end == std::string::npos) fail_here("the comment has no end");
        close(end, end > begin ? sign_at(end - 1) : 0);
    }

    // {% raw %}, with signs; where it ends, or 0.
    std::size_t word_tag_end(std::size_t tag, std::string_view word) const {
        std::string_view text = rest_.substr(tag + 2);
        if (sign_at(tag + 2)) text.remove_prefix(1);
        text = strip_left(text);
        if (!text.starts_with(word)) return 0;
        text = strip_left(text.substr(word.size()));
        if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
        return text.starts_with("%}") ? source_.size() - text.size() : 0;
    }
    bool raw_begins(std::size_t tag) const {
        const std::size_t end = word_tag_end(tag, "raw");
        return end != 0 && source_[end - 1] != '+';
    }

    void raw(std::size_t tag) {
        data(rest_.substr(at_, tag - at_), tag);
        const std::size_t begin_end = word_tag_end(tag, "raw");
        std::size_t begin = begin_end + 2;  // the line end after it stays
        if (source_[begin_end - 1] == '-') begin = source_.size() - strip_left(rest_.substr(begin)).size();
        line_starting_ = source_[begin - 1] == '\n';
        move_to(begin);
        for (std::size_t at = source_.find("{%", at_); at != std::string::npos; at = source_.find("{%", at + 1)) {
            const std::size_t end = word_tag_end(at, "endraw");
            if (end == 0) continue;
            data(rest_.substr(at_, at - at_), at);
            close(end, sign_at(end - 1));
            return;
        }
        fail_here("'raw' has no end: {% endraw %} is missing");
    }

    void begin_tag(std::size_t tag, bool is_block) {
        data(rest_.substr(at_, tag - at_), tag);
        move_to(tag);
        push(is_block ? TokenKind::BlockBegin : TokenKind::VariableBegin, {});
        move_to(tag + 2 + (sign_at(tag + 2) != 0));
        brackets_.clear();
        inside_ = true;
        is_block_ = is_block;
    }

    bool end_of_tag(bool is_block) {
        const std::string_view text = rest_.substr(at_);
        const char sign = sign_at(at_) == '-' || is_block ? sign_at(at_) : '\0';
        const std::size_t place = at_ + (sign != 0);
        if (!rest_.substr(place).starts_with(is_block ? "%}" : "}}")) return false;
        push(is_block ? TokenKind::BlockEnd : TokenKind::VariableEnd, std::string(text.substr(0, 0)));
        if (is_block) {
            close(place, sign);
            return true;
        }
        std::size_t end = place + 2;
        if (sign == '-') end = source_.size() - strip_left(rest_.substr(end)).size();
        line_starting_ = source_[end - 1] == '\n';
        move_to(end);
        return true;
    }

    void skip_space() { move_to(source_.size() - strip_left(rest_.substr(at_)).size()); }

    void token() {
        const char c = source_[at_];
        if (is_digit(c))
            number();
        else if (begins_name(c))
            name();
        else if (c == '\'' || c == '"')
            string();
        else
            symbol();
    }

    // Digits with single underscores between them.
    std::size_t digits_end(std::size_t place) const {
        while (place < source_.size() &&
               (is_digit(source_[place]) ||
                (source_[place] == '_' && place + 1 < source_.size() && is_digit(source_[place + 1]))))
            ++place;
        return place;
    }

    void number() {
        std::size_t end = digits_end(at_);
        bool broken = false;
        if (source_[at_] == '0' && end == at_ + 1 && end + 1 < source_.size()) {
            const char base = static_cast<char>(source_[end] | 0x20);
            if (base == 'x' || base == 'o' || base == 'b') {
                while (end < source_.size() && (begins_name(source_[end]) || is_digit(source_[end]))) ++end;
                return push_and_move(TokenKind::Integer, end);
            }
        }
        const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
        if (!after_dot) {
            std::size_t more = end;
            if (more + 1 < source_.size() && source_[more] == '.' && is_digit(source_[more + 1])) {
                more = digits_end(more + 1);
                broken = true;
                end = more;
            }
            if (more < source_.size() && (source_[more] | 0x20) == 'e') {
                ++more;
                if (sign_at(more)) ++more;
                if (more < source_.size() && is_digit(source_[more])) {
                    end = digits_end(more);
                    broken = true;
                }
            }
        }
        push_and_move(broken ? TokenKind::Float : TokenKind::Integer, end);
    }

    void push_and_move(TokenKind kind, std::size_t end) {
        push(kind, source_.substr(at_, end - at_));
        move_to(end);
    }

    void name() {
        std::size_t end = at_;
        while (end < source_.size() && (begins_name(source_[end]) || is_digit(source_[end]))) ++end;
        push_and_move(TokenKind::Name, end);
    }

    void string() {
        const char quote = source_[at_];
        std::size_t end = at_ + 1;
        while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
        if (end >= source_.size()) fail_here("a string has no end");
        try {
            push(TokenKind::String, unescaped(rest_.substr(at_ + 1, end - at_ - 1)));
        } catch (const Error& error) {
            fail_here(error.what());
        }
        move_to(end + 1);
    }

    void symbol() {
        for (const std::string_view two : {"//", "**", "==", "!=", ">=", "<="})
            if (rest_.substr(at_).starts_with(two)) return push_and_move(TokenKind::Symbol, at_ + 2);
        const char c = source_[at_];
        if (c == '\0' || std::string_view("+-/*%~[](){}<>=.:|,;").find(c) == std::string_view::npos)
            fail_here(text_of("unexpected character '", source_.substr(at_, 1), "'"));
        if (c == '(' || c == '[' || c == '{') brackets_ += c == '(' ? ')' : c == '[' ? ']' : '}';
        if (c == ')' || c == ']' || c == '}') {
            if (brackets_.empty() || brackets_.back() != c)
                fail_here(text_of("unexpected '", source_.substr(at_, 1), "'"));
            brackets_.pop_back();
        }
        push_and_move(TokenKind::Symbol, at_ + 1);
    }

    const std::string source_;
    const std::string_view rest_;
    std::deque<Token> found_;  // not given yet
    std::string brackets_;     // that are open, as what closes them
    bool inside_ = false, is_block_ = false;
    std::size_t at_ = 0;
    int line_ = 1;
    bool line_starting_ = true;
};

}  // namespace

std::function<Token()> tokens_of(const std::string& source) {
    return [lexer = std::make_shared<Lexer>(source)] { return lexer->next(); };
}

}  // namespace tessera::jinja
