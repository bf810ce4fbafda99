// The work done for one text, charged as it is done: steps of patterns and matching, and bytes that a text grows to.
// Both are bounded by the text's length (limits.h), so that no file can make a tokenizer take the square of it, or
// more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tessera/tokenizers/limits.h"

namespace tessera::tokenizers {

class TextWork {
   public:
    explicit TextWork(std::size_t bytes) : bytes_(bytes) {}

    void allow(std::size_t more_bytes) { bytes_ += more_bytes; }
    // Throws where there is no more of it; `who` is what the error names.
    void charge(std::uint64_t steps, const std::string& who) {
        steps_ += steps;
        if (steps_ > most()) complain_of_steps(who);
    }
    // That a text, or all copies of it that stand side by side, may become so long.
    void check_length(std::size_t length, const std::string& who) const {
        if (length > limits::growth * bytes_ + limits::free_growth) complain_of_length(who);
    }
    // What a text is longer for what was done to it, all parts together.
    void grow(std::size_t before, std::size_t after, const std::string& who) {
        if (after > before) check_length(grown_ += after - before, who);
    }
    void hold(std::size_t bytes, const std::string& who) {
        check_length(held_ + bytes, who);
        held_ += bytes;
    }
    void let_go(std::size_t bytes) { held_ -= bytes; }
    // How many steps may still be charged; one more is too many.
    std::uint64_t left() const { return most() - std::min(steps_, most()); }

    // How many stages a piece has come through: each calls the next.
    int depth = 0;

   private:
    std::uint64_t most() const { return limits::steps_per_byte * bytes_ + limits::free_steps; }
    [[noreturn]] void complain_of_steps(const std::string& who) const;
    [[noreturn]] void complain_of_length(const std::string& who) const;

    std::size_t bytes_, held_ = 0, grown_ = 0;
    std::uint64_t steps_ = 0;
};

// A piece of a text on its way through a stage. The deeper it is, the less of the way back is at hand.
class StagePass {
   public:
    StagePass(TextWork& work, std::size_t bytes, const std::string& who) : work_(work) {
        constexpr int deepest = 16;
        work_.charge(10 * static_cast<std::uint64_t>(std::min(work_.depth + 1, deepest)) + 4 * bytes, who);
        ++work_.depth;
    }
    ~StagePass() { --work_.depth; }
    StagePass(const StagePass&) = delete;
    StagePass& operator=(const StagePass&) = delete;

   private:
    TextWork& work_;
};

// Throws where a part of a text that nothing cuts is too long to be taken apart in memory.
void check_word(std::string_view word);

// The work on the text that this thread has in hand: what an outer scope began, or else what is begun here.
class WorkScope {
   public:
    explicit WorkScope(std::size_t bytes) : own_(bytes), outer_(current) {
        if (!outer_) current = &own_;
    }
    explicit WorkScope(TextWork& work) : own_(0), outer_(current) { current = &work; }
    ~WorkScope() { current = outer_; }
    WorkScope(const WorkScope&) = delete;
    WorkScope& operator=(const WorkScope&) = delete;

    TextWork* operator->() const { return current; }
    TextWork& operator*() const { return *current; }

   private:
    static thread_local TextWork* current;
    TextWork own_;
    TextWork* outer_;
};

// A copy of a text for as long as this stands. Copies of copies are many where they multiply, so each costs far more
// than its bytes.
class HeldText {
   public:
    HeldText(TextWork& work, std::size_t bytes, const std::string& who) : work_(work), bytes_(bytes) {
        work.charge(96 * (bytes + 1), who);
        work.hold(bytes, who);
    }
    ~HeldText() { work_.let_go(bytes_); }
    HeldText(const HeldText&) = delete;
    HeldText& operator=(const HeldText&) = delete;

   private:
    TextWork& work_;
    std::size_t bytes_;
};

}  // namespace tessera::tokenizers
