// The arguments that say how far a text may grow, shared by the commands that write texts, and what is said where one
// has ended for want of room.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/cli/arguments/arguments.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/inference/context_rule.h"
#include "tessera/inference/prompt.h"

namespace tessera::cli {

struct ContextArguments {
    std::optional<std::int64_t> tokens = {};
    bool shifts = false, goes_on = false;

    void declare(Arguments& parser);        // --ctx and --beyond-context
    void declare_shift(Arguments& parser);  // --context-shift

    // Wrong values are refused by name.
    inference::ContextRule rule(const models::OpenedModel& model) const;
    // "the model's context of 256 tokens"
    std::string name(const models::OpenedModel& model) const;
    // What else can be said for a longer text, "; --beyond-context reads all of it"; nothing where that is nothing.
    std::string advice(const models::OpenedModel& model) const;
    bool could_shift(const models::OpenedModel& model) const;
};

// Of a long prompt being read.
class ReadingProgress {
   public:
    void set(std::int64_t done, std::int64_t total) {
        if (!bar_) bar_ = std::make_unique<Progress>("reading", static_cast<double>(total), "tokens");
        bar_->set(static_cast<double>(done));
    }
    void end() { bar_.reset(); }

   private:
    std::unique_ptr<Progress> bar_;
};

}  // namespace tessera::cli
