// Scanners for the split patterns in wide use, character by character: several times as fast as a regular expression,
// and never going back further than one character. tests/tokenizers holds them to PCRE2's answers.
#include <array>
#include <cstdint>

#include "tessera/core/error.h"
#include "tessera/text/unicode.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/stages/splitter.h"

namespace tessera::tokenizers {
namespace {

constexpr auto ascii_classes = [] {
    std::array<text::CharacterClass, 128> table{};
    for (char32_t c = 0; c < 128; ++c) {
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) table[c] = text::CharacterClass::Letter;
        if (c >= '0' && c <= '9') table[c] = text::CharacterClass::Number;
        if (text::is_space(c)) table[c] = text::CharacterClass::Space;
    }
    return table;
}();

struct Character {
    text::CharacterClass kind;
    std::size_t length;
};

// A place in valid UTF-8.
class Scan {
   public:
    Scan(std::string_view text, std::size_t at) : text_(text), at_(at) {}

    std::size_t at() const { return at_; }
    bool done() const { return at_ == text_.size(); }
    char byte(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
    Character next(std::size_t ahead = 0) const {  // not past the end
        const char* place = text_.data() + at_ + ahead;
        const auto first = static_cast<unsigned char>(*place);
        if (first < 128) return {ascii_classes[first], 1};
        return {text::class_of(text::character_at(place)), text::character_length(*place)};
    }
    bool next_is(text::CharacterClass kind, std::size_t ahead = 0) const {
        return at_ + ahead < text_.size() && next(ahead).kind == kind;
    }
    void skip(std::size_t bytes) { at_ += bytes; }
    void skip_all(text::CharacterClass kind, std::size_t most = SIZE_MAX) {
        while (most-- > 0 && !done()) {
            const Character c = next();
            if (c.kind != kind) return;
            at_ += c.length;
        }
    }
    void skip_line_ends() {
        while (byte() == '\r' || byte() == '\n') ++at_;
    }
    // \s+(?!\S)|\s+ : all of the spaces, but the last where a word follows, unless it is the only one.
    void skip_spaces() {
        std::size_t last = at_;
        const std::size_t first = at_;
        while (!done()) {
            const Character c = next();
            if (c.kind != text::CharacterClass::Space) break;
            last = at_;
            at_ += c.length;
        }
        if (!done() && last > first) at_ = last;
    }

   private:
    std::string_view text_;
    std::size_t at_;
};

// 's 't 're 've 'm 'll 'd after an apostrophe: their length, or 0.
std::size_t contraction(const Scan& scan, bool any_case) {
    const auto letter = [&](std::size_t ahead) {
        const char c = scan.byte(ahead);
        return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    };
    switch (letter(1)) {
        case 's':
        case 't':
        case 'm':
        case 'd': return 2;
        case 'r':
        case 'v': return letter(2) == 'e' ? 3 : 0;
        case 'l': return letter(2) == 'l' ? 3 : 0;
        case '\xC5': return any_case && scan.byte(2) == '\xBF' ? 3 : 0;  // ſ, an s where case does not matter
        default: return 0;
    }
}

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
struct SpaceBeforeWord {
    std::size_t operator()(std::string_view text, std::size_t at) const {
        Scan scan(text, at);
        if (scan.byte() == '\'')
            if (const std::size_t length = contraction(scan, false)) return at + length;
        const std::size_t space = scan.byte() == ' ' && at + 1 < text.size() ? 1 : 0;
        const text::CharacterClass kind = scan.next(space).kind;
        if (kind == text::CharacterClass::Space) {
            scan.skip_spaces();
            return scan.at();
        }
        scan.skip(space);
        scan.skip_all(kind);
        return scan.at();
    }
};

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
struct MarkBeforeWord {
    std::size_t digits;  // N

    std::size_t operator()(std::string_view text, std::size_t at) const {
        Scan scan(text, at);
        const char first = scan.byte();
        if (first == '\'')
            if (const std::size_t length = contraction(scan, true)) return at + length;
        const Character c = scan.next();
        if (c.kind == text::CharacterClass::Number) {
            scan.skip_all(text::CharacterClass::Number, digits);
            return scan.at();
        }
        const bool line_end = first == '\r' || first == '\n';
        if (c.kind == text::CharacterClass::Letter ||
            (!line_end && scan.next_is(text::CharacterClass::Letter, c.length))) {
            scan.skip(c.length);
            scan.skip_all(text::CharacterClass::Letter);
            return scan.at();
        }
        if (c.kind == text::CharacterClass::Other || (first == ' ' && scan.next_is(text::CharacterClass::Other, 1))) {
            scan.skip(c.length);
            scan.skip_all(text::CharacterClass::Other);
            scan.skip_line_ends();
            return scan.at();
        }
        return spaces(text, at);
    }

    // Up to the last line end among the spaces, if there is one.
    static std::size_t spaces(std::string_view text, std::size_t at) {
        Scan scan(text, at);
        std::size_t line_end = at;
        while (!scan.done()) {
            const Character c = scan.next();
            if (c.kind != text::CharacterClass::Space) break;
            if (scan.byte() == '\r' || scan.byte() == '\n') line_end = scan.at() + 1;
            scan.skip(c.length);
        }
        if (line_end > at) return line_end;
        Scan again(text, at);
        again.skip_spaces();
        return again.at();
    }
};

template <class Next>
class Scanner : public Splitter {
   public:
    explicit Scanner(Next next) : next_(next) {}

    void find(std::string_view text, FunctionRef<void(std::size_t, std::size_t)> give) const override {
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = next_(text, at);
            give(at, end);
            at = end;
        }
    }

   private:
    Next next_;
};

// The first pattern with atomic groups, which change nothing in it.
constexpr const char* byte_level_pattern_again =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)";

// How the second pattern is written but for its digits: with and without atomic groups, which change nothing in it.
constexpr const char* mark_heads[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)",
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|)",
    R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|)",
};
constexpr const char* mark_tails[] = {
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"(| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)",
    R"(| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s*[\r\n]|\s+(?!\S)|\s+)",
};

}  // namespace

std::unique_ptr<Splitter> scanner_splitter(const std::string& pattern) {
    if (pattern == byte_level_pattern || pattern == byte_level_pattern_again)
        return std::make_unique<Scanner<SpaceBeforeWord>>(SpaceBeforeWord{});
    struct Digits {
        const char* text;
        std::size_t most;
    };
    constexpr Digits digits[] = {{R"(\p{N}{1,3})", 3}, {R"(\p{N})", 1}, {R"(\p{N}+)", SIZE_MAX}};
    for (const char* head : mark_heads)
        for (const Digits& count : digits)
            for (const char* tail : mark_tails)
                if (pattern == text_of(head, count.text, tail))
                    return std::make_unique<Scanner<MarkBeforeWord>>(MarkBeforeWord{count.most});
    return nullptr;
}

}  // namespace tessera::tokenizers
