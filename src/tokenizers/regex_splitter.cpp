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

std::string in_dialect(const std::string& pattern) {
    std::string out;
    int classes = 0;  // how deep within [ … ]
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '\\' || i + 1 == pattern.size()) {
            classes += pattern[i] == '[' ? 1 : pattern[i] == ']' && classes > 0 ? -1 : 0;
            out += pattern[i];
            continue;
        }
        const char letter = pattern[++i];
        const std::string_view inside = inside_of(letter);
        const bool negated = letter < 'a';
        if (inside.empty() || (negated && classes > 0))
            out += text_of("\\", std::string(1, letter));
        else if (classes > 0)
            out += inside;
        else
            out += text_of(negated ? "[^" : "[", inside, "]");
    }
    return out;
}

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
        const std::string ours = in_dialect(pattern);
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
