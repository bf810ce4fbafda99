// Regular expressions by PCRE2 (pcre.org), compiled to machine code. Tokenizer files are written for Oniguruma in
// Ruby's dialect: \s is White_Space, \w has marks in it, \h is a hexadecimal digit, and ^ and $ stand at every line.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/error.h"
#include "tokenizers/splitter.h"

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
                out += pattern_[at_++];
        }
        return out;
    }

   private:
    std::string escape(bool in_class) {
        if (at_ + 1 == pattern_.size()) return ++at_, "\\";
        const char letter = pattern_[at_ + 1];
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

struct FreeCode {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct FreeContext {
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};
struct FreeData {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct FreeStack {
    void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};

// What matching needs: made once per thread, because making it takes longer than most matches.
struct Room {
    std::unique_ptr<pcre2_match_data, FreeData> data{pcre2_match_data_create(1, nullptr)};
    std::unique_ptr<pcre2_match_context, FreeContext> context{pcre2_match_context_create(nullptr)};
    std::unique_ptr<pcre2_jit_stack, FreeStack> stack{
        pcre2_jit_stack_create(std::size_t{32} << 10, std::size_t{64} << 20, nullptr)};

    Room() { pcre2_jit_stack_assign(context.get(), nullptr, stack.get()); }
    static const Room& of_thread() {
        static thread_local const Room room;
        return room;
    }
};

std::string message_of(int error) {
    PCRE2_UCHAR text[256];
    pcre2_get_error_message(error, text, sizeof text);
    return reinterpret_cast<const char*>(text);
}

class RegexSplitter : public Splitter {
   public:
    RegexSplitter(const std::string& pattern, const std::string& name) : name_(name) {
        const std::string ours = Dialect(pattern, name).translate();
        int error = 0;
        PCRE2_SIZE place = 0;
        code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(ours.data()), ours.size(),
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error, &place,
                                  nullptr));
        check(code_ != nullptr, name, ": no regular expression: ", message_of(error), " at byte ", place);
        pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE);  // without it, patterns are interpreted
    }

    void find(std::string_view text, FunctionRef<void(std::size_t, std::size_t)> give) const override {
        const Room& room = Room::of_thread();
        const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
        for (std::size_t at = 0; at < text.size();) {
            // The text is known to be valid; asking again at every match would take the square of the time.
            const int found = pcre2_match(code_.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY,
                                          room.data.get(), room.context.get());
            if (found == PCRE2_ERROR_NOMATCH) return;
            check(found >= 0, name_, ": the pattern gives up: ", message_of(found));
            const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(room.data.get());
            const std::size_t begin = ends[0], end = ends[1];
            check(begin >= at && end > begin, name_, ": the pattern moves its own beginning");
            at = end;
            give(begin, end);  // may look for another pattern in the same room
        }
    }

   private:
    std::string name_;
    std::unique_ptr<pcre2_code, FreeCode> code_;
};

}  // namespace

std::unique_ptr<Splitter> regex_splitter(const std::string& pattern, const std::string& name) {
    return std::make_unique<RegexSplitter>(pattern, name);
}

}  // namespace tessera::tokenizers
