// Regular expressions by PCRE2 (pcre.org), compiled to machine code. ^ and $ stand at every line.
//
// PCRE2 bounds how often one match goes back, but neither how far it looks ahead nor what all matches of a text do
// together. So a match first sees a short window of the text and may go back a little. Where it wants more, it is tried
// again at the same place alone, by code that tells of every item of the pattern it comes to (a callout), so that its
// steps are counted as it takes them; and it sees four times as much each time that its window ends too soon.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/text/utf8.h"
#include "tessera/tokenizers/stages/regex_dialect.h"
#include "tessera/tokenizers/stages/splitter.h"
#include "tessera/tokenizers/text_work.h"

namespace tessera::tokenizers {
namespace {

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

    Room() {
        pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
        pcre2_set_heap_limit(context.get(), 64 << 10);  // in KiB; used where there is no machine code
    }
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

using Code = std::unique_ptr<pcre2_code, FreeCode>;

Code compiled(const std::string& pattern, std::uint32_t more_options, const std::string& name) {
    int error = 0;
    PCRE2_SIZE place = 0;
    constexpr std::uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
    Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options | more_options,
                            &error, &place, nullptr));
    check(code != nullptr, name, ": no regular expression: ", message_of(error), " at byte ", place);
    // Without it, patterns are interpreted.
    pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
    return code;
}

// Counts the steps of a match: a visit to an item of the pattern, and the bytes passed on the way to it.
struct StepCounter {
    std::uint64_t left, taken = 0;
    std::size_t place;

    static int visit(pcre2_callout_block* block, void* data) {
        auto& counter = *static_cast<StepCounter*>(data);
        const std::size_t now = block->current_position;
        counter.taken += 12 + 2 * (std::max(now, counter.place) - std::min(now, counter.place));
        counter.place = now;
        return counter.taken > counter.left ? PCRE2_ERROR_CALLOUT : 0;
    }
};

class RegexSplitter : public Splitter {
   public:
    RegexSplitter(const std::string& pattern, const std::string& name) : name_(name) {
        const std::string ours = in_dialect_of_pcre2(pattern, name);
        anywhere_ = compiled(ours, 0, name);
        here_ = compiled(ours, PCRE2_ANCHORED | PCRE2_AUTO_CALLOUT, name);
        std::size_t bytes = 0;
        std::uint32_t behind = 0;
        pcre2_pattern_info(anywhere_.get(), PCRE2_INFO_SIZE, &bytes);
        pcre2_pattern_info(anywhere_.get(), PCRE2_INFO_MAXLOOKBEHIND, &behind);
        constexpr std::size_t head = 128;
        steps_ = 1 + (bytes - std::min(bytes, head)) / 16;
        behind_ = behind;
    }

    void find(std::string_view text, FunctionRef<void(std::size_t, std::size_t)> give) const override {
        const WorkScope work(text.size());
        Attempt attempt;
        while (attempt.at < text.size()) {
            const Outcome outcome = match(text, attempt, *work);
            if (outcome.kind == Outcome::Found) {
                attempt = {.at = outcome.end};
                give(outcome.begin, outcome.end);  // may look for another pattern in the same room
            } else if (outcome.kind == Outcome::None) {
                attempt = {.at = outcome.end};
            } else if (outcome.begin > attempt.at) {
                attempt = {.at = outcome.begin};
            } else {
                const bool too_little = outcome.kind == Outcome::SeesTooLittle;
                attempt = {.at = attempt.at, .window = attempt.window * (too_little ? 4 : 1), .alone = true};
            }
        }
    }

   private:
    struct Attempt {
        std::size_t at = 0, window = 32;
        bool alone = false;  // at this place only, with every step counted
    };
    struct Outcome {
        enum Kind { Found, None, SeesTooLittle, GoesBackTooOften } kind;
        std::size_t begin, end;  // of what was found; else where a match may begin, and up to where there is none
    };

    Outcome match(std::string_view text, const Attempt& attempt, TextWork& work) const {
        const std::size_t at = attempt.at;
        std::size_t end = text.size();
        if (attempt.window < end - at) {
            end = at + attempt.window;
            while (end < text.size() && (text[end] & 0xC0) == 0x80) ++end;
        }
        const std::size_t seen = end - at + behind_;
        work.charge(call, name_);

        const Room& room = Room::of_thread();
        StepCounter counter{.left = work.left(), .place = at};
        pcre2_set_callout(room.context.get(), StepCounter::visit, &counter);
        pcre2_set_match_limit(room.context.get(), attempt.alone ? most_counted : most_uncounted);
        // The text is known to be valid; asking again at every match would take the square of the time.
        const std::uint32_t options =
            PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY | (end < text.size() ? PCRE2_PARTIAL_HARD : 0);
        const int found =
            pcre2_match((attempt.alone ? here_ : anywhere_).get(), reinterpret_cast<PCRE2_SPTR>(text.data()), end, at,
                        options, room.data.get(), room.context.get());
        work.charge(counter.taken, name_);
        if (found < 0)
            work.charge(steps_ * seen * (found == PCRE2_ERROR_NOMATCH && !attempt.alone ? failure : 1), name_);
        if (found == PCRE2_ERROR_NOMATCH) {
            return {Outcome::None, end, attempt.alone ? at + text::character_length(text[at]) : end};
        }
        if (found == PCRE2_ERROR_PARTIAL) {
            const std::size_t begin = pcre2_get_startchar(room.data.get());
            work.charge(steps_ * failure * (begin - at), name_);
            return {Outcome::SeesTooLittle, begin, end};
        }
        if (found == PCRE2_ERROR_MATCHLIMIT && !attempt.alone) return {Outcome::GoesBackTooOften, at, end};
        check(found >= 0, name_, ": the pattern gives up: ", message_of(found));
        const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(room.data.get());
        check(ends[0] >= at && ends[1] > ends[0], name_, ": the pattern moves its own beginning");
        const std::size_t least = 8;  // bytes that it may have looked at
        work.charge(steps_ * (failure * (ends[0] - at) + behind_ + std::max(ends[1] - ends[0], least)), name_);
        return {Outcome::Found, ends[0], ends[1]};
    }

    // Steps: of a call; for each byte, where all that the pattern could begin with had to be tried.
    static constexpr std::uint64_t call = 64, failure = 12;
    // How often a match may go back.
    static constexpr std::uint32_t most_uncounted = 256, most_counted = 0xFFFFFFFFu;

    std::string name_;
    Code anywhere_, here_;
    std::uint64_t steps_ = 1;  // for each byte that it looks at
    std::size_t behind_ = 0;
};

}  // namespace

std::unique_ptr<Splitter> regex_splitter(const std::string& pattern, const std::string& name) {
    return std::make_unique<RegexSplitter>(pattern, name);
}

}  // namespace tessera::tokenizers
