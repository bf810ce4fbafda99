#include "tessera/tokenizers/stages/regex_dialect.h"

#include "tessera/core/error.h"
#include "tessera/tokenizers/limits.h"

namespace tessera::tokenizers {
namespace {

// What a class of Oniguruma's holds, as the inside of one of PCRE2's; empty: the same in both.
std::string_view inside_of(char letter) {
    switch (letter) {
        case 's':
        case 'S':
            return R"(\x{09}-\x{0D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
        case 'w':
        case 'W': return R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24B6}-\x{24E9})";
        case 'h':
        case 'H': return "0-9a-fA-F";
        default: return {};
    }
}

// Reads a pattern from left to right and writes it in PCRE2's dialect.
class Dialect {
   public:
    Dialect(std::string_view pattern, const std::string& name) : pattern_(pattern), name_(name) {}

    std::string translate() {
        std::string out;
        while (at_ < pattern_.size()) {
            if (pattern_[at_] == '\\')
                out += escape(false);
            else if (pattern_[at_] == '[')
                out += character_class();
            else
                out += plain();
        }
        return out;
    }

   private:
    // What only PCRE2 knows is no part of the dialect, and calls of groups could not be bounded.
    char plain() {
        const std::string_view rest = pattern_.substr(at_);
        check(!rest.starts_with("(*"), name_, ": no regular expression: a quantifier without a target");
        if (rest.starts_with("(?") && rest.size() > 3) {
            const char next = rest[2], after = rest[3];
            const bool call = next == 'R' || next == '&' || (next >= '0' && next <= '9') ||
                              ((next == '+' || next == '-') && after >= '0' && after <= '9') ||
                              (next == 'P' && after == '>');
            check(!call, name_, ": calls of groups are not known here");
        }
        return pattern_[at_++];
    }

    std::string escape(bool in_class) {
        if (at_ + 1 == pattern_.size()) return ++at_, "\\";
        const char letter = pattern_[at_ + 1];
        check(letter != 'g' || in_class, name_, ": calls of groups are not known here");
        at_ += 2;
        const std::string_view inside = inside_of(letter);
        const bool negated = letter < 'a';
        if (inside.empty() || (negated && in_class)) return text_of("\\", std::string(1, letter));
        return in_class ? std::string(inside) : text_of(negated ? "[^" : "[", inside, "]");
    }

    // A class within a class belongs to it; [a&&[b]] is what both hold, which a look ahead says here.
    std::string character_class() {
        const bool negated = begins_negated();
        std::string conditions;
        const std::string inside = class_inside(conditions);
        if (conditions.empty()) return text_of(negated ? "[^" : "[", inside, "]");
        check(!negated, name_, ": a negated class that holds && is not known here");
        return text_of("(?:", conditions, "[", inside, "])");
    }

    // Past "[" or "[^".
    bool begins_negated() {
        const bool negated = pattern_.substr(at_).starts_with("[^");
        at_ += negated ? 2 : 1;
        return negated;
    }

    std::string class_inside(std::string& conditions) {
        check(++depth_ <= deepest, name_, ": classes nested deeper than ", deepest);
        std::string out;
        for (bool first = true;; first = false) {
            check(at_ < pattern_.size(), name_, ": no regular expression: a class without its end");
            const std::string_view rest = pattern_.substr(at_);
            if (rest[0] == ']' && !first) {
                ++at_;
                --depth_;
                return out;
            }
            if (rest[0] == '\\') {
                out += escape(true);
            } else if (rest.starts_with("[:") && rest.find(":]") != rest.npos) {
                out += rest.substr(0, rest.find(":]") + 2);
                at_ += rest.find(":]") + 2;
            } else if (rest.starts_with("&&[")) {
                at_ += 2;
                const bool negated = begins_negated();
                std::string none;
                const std::string other = class_inside(none);
                check(none.empty(), name_, ": && within && is not known here");
                conditions += text_of(negated ? "(?![" : "(?=[", other, "])");
            } else if (rest[0] == '[') {
                check(!begins_negated(), name_, ": a negated class within a class is not known here");
                out += class_inside(conditions);
            } else {
                check(!rest.starts_with("&&"), name_, ": && before anything but a class is not known here");
                out += pattern_[at_++];
            }
        }
    }

    std::string_view pattern_;
    const std::string& name_;
    std::size_t at_ = 0;
    static constexpr int deepest = 100;
    int depth_ = 0;
};

}  // namespace

std::string in_dialect_of_pcre2(std::string_view pattern, const std::string& name) {
    check(pattern.size() <= limits::longest_pattern, name, ": a pattern of ", pattern.size(), " bytes is longer than ",
          limits::longest_pattern);
    return Dialect(pattern, name).translate();
}

}  // namespace tessera::tokenizers
