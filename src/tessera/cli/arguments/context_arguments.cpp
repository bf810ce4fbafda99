#include "tessera/cli/arguments/context_arguments.h"

#include <fmt/format.h>

#include <cstdio>

#include "tessera/core/error.h"

namespace tessera::cli {
namespace {

constexpr std::int64_t least_to_shift = 3;

}  // namespace

void ContextArguments::declare(Arguments& parser) {
    parser.option("-c,--ctx,--ctx-size", tokens,
                  "how many tokens a text may have, prompt and answer; the model's context otherwise");
    parser.flag("--beyond-context", goes_on, "go on past the model's context, where its positions do not end");
}

void ContextArguments::declare_shift(Arguments& parser) {
    parser.flag("--context-shift", shifts,
                "at the context's end forget the older half of the text after its first token, and go on");
}

inference::ContextRule ContextArguments::rule(const models::OpenedModel& model) const {
    check(!(shifts && goes_on), "--context-shift: --beyond-context says otherwise");
    const std::int64_t positions = model.model->longest_text(), context = model.model->context_length();
    const std::int64_t wanted = tokens.value_or(1);
    check(wanted >= 1, "--ctx: expected 1 or more, found ", wanted);
    check(positions == 0 || wanted <= positions, "--ctx: ", counted(wanted, "token"),
          ", but the model has positions for ", positions);
    check(goes_on || context == 0 || wanted <= context, "--ctx: ", counted(wanted, "token"),
          ", but the model's context is ", context, "; --beyond-context goes past it");
    check(!shifts || tokens || context > 0, "--context-shift: ", model.path.string(),
          " does not say how long its context is; --ctx does");
    if (goes_on && (context == 0 || positions == context))
        fmt::print(stderr, "tessera: --beyond-context has no effect: {}\n",
                   context == 0 ? "the model names no context"
                                : fmt::format("the model has positions for {} tokens, and no more", positions));
    inference::ContextRule rule{.tokens = tokens.value_or(0)};
    if (goes_on) rule.end = inference::AtContext::GoOn;
    if (shifts) rule.end = inference::AtContext::Shift;
    const std::int64_t room = tokens.value_or(context);
    check(!shifts || room >= least_to_shift, "--context-shift: there is nothing to forget of a context of ", room);
    return rule;
}

std::string ContextArguments::name(const models::OpenedModel& model) const {
    const std::int64_t most = goes_on ? model.model->longest_text() : model.model->context_length();
    return tokens && *tokens != most ? text_of("the context of ", counted(*tokens, "token"))
                                     : text_of("the model's context of ", counted(most, "token"));
}

std::string ContextArguments::advice(const models::OpenedModel& model) const {
    const std::int64_t positions = model.model->longest_text(), context = model.model->context_length();
    const std::int64_t most = goes_on ? positions : context;
    if (tokens && most == 0) return "; a larger --ctx has room for it";
    if (tokens && *tokens < most) return fmt::format("; --ctx can be up to {}", most);
    return goes_on || positions > 0 ? "" : "; --beyond-context reads all of it";
}

bool ContextArguments::could_shift(const models::OpenedModel& model) const {
    const std::int64_t room = tokens.value_or(model.model->context_length());
    return !goes_on && inference::can_shift(*model.model) && room >= least_to_shift;
}

}  // namespace tessera::cli
