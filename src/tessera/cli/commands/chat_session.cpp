#include "tessera/cli/commands/chat_session.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>

#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/cli/terminal/terminal_text.h"

namespace tessera::cli {
namespace {

using inference::ChatMessage;

constexpr std::int64_t usual_answer = 1024;

std::atomic<bool> interrupted{false};

// Ctrl-C ends the answer, not the program, while it lives.
class InterruptGuard {
   public:
    InterruptGuard() {
        interrupted = false;
        struct sigaction action {};
        action.sa_handler = [](int) { interrupted = true; };
        sigaction(SIGINT, &action, &before_);
    }
    ~InterruptGuard() { sigaction(SIGINT, &before_, nullptr); }
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;

   private:
    struct sigaction before_ {};
};

void print(const std::string& piece) {
    std::fwrite(piece.data(), 1, piece.size(), stdout);
    std::fflush(stdout);
    check_output();
}

void say(const std::string& line) {
    std::fprintf(stderr, "%s\n", is_error_terminal() ? faint(line).c_str() : line.c_str());
}

}  // namespace

ChatSession::ChatSession(const models::OpenedModel& model, const GenerationArguments& how,
                         const ContextArguments& context)
    : model_(model),
      how_(how),
      context_arguments_(context),
      settings_(how.applied(model)),
      rule_(context.rule(model)),
      chat_(model) {}

bool ChatSession::take(const std::string& text) {
    if (text.empty()) return true;
    if (text[0] == '/' && !text.starts_with("//")) return command(text);
    check_utf8(text, "the message");
    messages_.push_back(
        {.role = "user", .content = text.starts_with("//") ? text.substr(1) : text, .images = next_images_});
    try {
        answer();
    } catch (const Error&) {
        messages_.pop_back();
        throw;
    }
    next_images_.clear();
    return true;
}

void ChatSession::set_system(const std::string& text) {
    check_utf8(text, "the system message");
    system_ = text;
}

std::vector<ChatMessage> ChatSession::with_system() const {
    std::vector<ChatMessage> all;
    if (!system_.empty()) all.push_back({.role = "system", .content = system_});
    all.insert(all.end(), messages_.begin(), messages_.end());
    return all;
}

void ChatSession::refuse(const inference::PromptTooLong& error) const {
    fail("the message has ", error.count(), system_.empty() ? " tokens" : " tokens with the system message",
         ", more than ", context_arguments_.name(model_));
}

void ChatSession::answer() {
    const auto has_images = [](const ChatMessage& message) { return !message.images.empty(); };
    check(!inference::looks_at_images(model_) || std::any_of(messages_.begin(), messages_.end(), has_images),
          "this model talks about images: show it one with /image PATH");
    models::GenerationSettings settings = settings_;
    settings.sampler.seed += turn_++;
    const InterruptGuard guard;
    ReadingProgress reading;
    TerminalText shown;
    const inference::ChatRequest request{
        .messages = with_system(),
        .generation = {.settings = settings,
                       .usual_new_tokens = usual_answer,
                       .stops = how_.stops,
                       .context = rule_,
                       .on_prefill = [&](std::int64_t done, std::int64_t total) { reading.set(done, total); },
                       .is_cancelled = [] { return interrupted.load(); }},
        .on_left_out = [&](std::size_t turns) {
            if (turns < 2 * turns_told_) return;  // one more with each message is no news
            turns_told_ = turns;
            say(text_of(turns == 1 ? "the oldest turn is" : text_of("the ", turns, " oldest turns are"),
                        " left out from here on: the conversation has outgrown ", context_arguments_.name(model_)));
        }};
    inference::ChatAnswer answer;
    try {
        answer = chat_.answer(request, [&](const inference::TextPiece& piece) {
            reading.end();
            print(shown.add(std::string(piece.text)));
        });
    } catch (const inference::PromptTooLong& error) {
        refuse(error);
    }
    reading.end();
    if (answer.turns_left_out == 0) turns_told_ = 0;
    check(answer.answer.ending != inference::Ending::Cancelled || !answer.answer.tokens.empty(),
          "stopped before the message had been read");
    print(shown.finish());
    print("\n");
    messages_.push_back({.role = "assistant", .content = answer.answer.text});
    if (shows_statistics_) say(speed_line(answer.timings));
    tell_of_room(answer);
}

void ChatSession::tell_of_room(const inference::ChatAnswer& answer) {
    if (answer.answer.ending == inference::Ending::Context)
        say(text_of("stopped at ", context_arguments_.name(model_)));
    const std::int64_t context = inference::context_under(rule_, *model_.model);
    const std::int64_t tokens = answer.timings.prompt_tokens + static_cast<std::int64_t>(answer.answer.tokens.size());
    if (context == 0 || tokens <= context / 4 * 3 || warned_ || model_.text().chat_template.empty()) return;
    warned_ = true;
    say(text_of("the conversation fills ", 100 * std::min(tokens, context) / context, " % of ",
                context_arguments_.name(model_), "; when there is no room left, its oldest turns are left out"));
}

}  // namespace tessera::cli
