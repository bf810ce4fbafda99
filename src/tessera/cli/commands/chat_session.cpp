#include "tessera/cli/commands/chat_session.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "tessera/cli/terminal/output.h"
#include "tessera/cli/terminal/terminal.h"
#include "tessera/cli/terminal/terminal_text.h"
#include "tessera/inference/chat_turns.h"
#include "tessera/inference/detokenizer.h"
#include "tessera/inference/image_prompt.h"
#include "tessera/models/catalog.h"
#include "tessera/models/vision/vision.h"

namespace tessera::cli {
namespace {

using inference::ChatMessage;
using inference::TextModel;

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

bool looks_at_images(const TextModel& model) {
    const models::Vision* vision = models::architecture_of(model.config).vision;
    return vision && vision->prompt;
}

ChatSession::ChatSession(const TextModel& model, const GenerationArguments& how, const ContextArguments& context)
    : model_(model),
      how_(how),
      context_arguments_(context),
      settings_(how.applied(model)),
      rule_(context.rule(model)),
      context_(inference::context_under(rule_, *model.model)),
      conversation_(*model.model) {}

bool ChatSession::take(const std::string& text) {
    if (text.empty()) return true;
    if (text[0] == '/' && !text.starts_with("//")) return command(text);
    messages_.push_back({.role = "user", .content = text.starts_with("//") ? text.substr(1) : text});
    try {
        answer();
    } catch (const Error&) {
        messages_.pop_back();
        throw;
    }
    return true;
}

// The conversation from a message on; for a model without a template, the last message alone.
ChatSession::Question ChatSession::question(std::size_t first) {
    const bool has_template = !model_.text().chat_template.empty();
    const inference::Prompt prompt = has_template ? inference::chat_prompt(model_, with_system(first))
                                                  : inference::Prompt{.text = messages_.back().content};
    if (!looks_at_images(model_)) return {inference::ids_of(model_, prompt), inference::batch_for(model_, {prompt})};
    check(!images_.empty(), "this model talks about images: show it one with /image PATH");
    asked_about_images_ = true;
    inference::ImagePrompts about = inference::image_prompts(model_, std::span(&prompt.text, 1), images_);
    return {std::move(about.ids[0]), std::move(about.batch)};
}

// Of the conversation, as much as leaves room for an answer of some length; from its last turn, what fits at all.
ChatSession::Question ChatSession::fitting_question(std::int64_t room, std::size_t& first) {
    const auto tokens_from = [&](std::size_t message) {
        return static_cast<std::int64_t>(question(message).ids.size());
    };
    if (context_ > 0) first = std::max(first, inference::first_shown(messages_, context_ - room, tokens_from));
    Question asked = question(first);
    const auto tokens = static_cast<std::int64_t>(asked.ids.size());
    check(context_ == 0 || tokens <= context_, "the message has ", tokens,
          system_.empty() ? " tokens, more than " : " tokens with the system message, more than ",
          context_arguments_.name(model_));
    return asked;
}

std::vector<ChatMessage> ChatSession::with_system(std::size_t first) const {
    std::vector<ChatMessage> all;
    if (!system_.empty()) all.push_back({.role = "system", .content = system_});
    all.insert(all.end(), messages_.begin() + static_cast<std::ptrdiff_t>(first), messages_.end());
    return all;
}

void ChatSession::answer() {
    inference::GenerateOptions options = generate_options(settings_, 0, usual_answer);
    std::size_t first = first_shown_;
    const auto [ids, batch] = fitting_question(std::min(options.max_new_tokens, context_ / 4), first);
    if (first > first_shown_) {
        const auto turns = inference::turns_of(messages_);
        const auto left_out = std::max<std::ptrdiff_t>(1, std::find(turns.begin(), turns.end(), first) - turns.begin());
        say(text_of(left_out == 1 ? "the oldest turn is" : text_of("the ", left_out, " oldest turns are"),
                    " left out from here on: the conversation has outgrown ", context_arguments_.name(model_)));
        first_shown_ = first;
    }
    options = generate_options(settings_, inference::prompt_length(*model_.model, batch), usual_answer);
    options.sampler.seed = settings_.sampler.seed + turn_++;
    options.context = rule_;
    inference::Detokenizer text(*model_.tokenizer, ids, how_.stops);
    Speed speed{.prompt_tokens = static_cast<std::int64_t>(ids.size())};
    const auto start = std::chrono::steady_clock::now();
    const InterruptGuard guard;
    ReadingProgress reading;
    TerminalText shown;
    options.on_prefill = [&](std::int64_t done, std::int64_t total) {
        check(!interrupted, "stopped before the message had been read");
        reading.set(done, total);
    };
    const inference::Generated generated = conversation_.answer(batch, options, [&](const inference::NewToken& token) {
        reading.end();
        if (speed.first_token_seconds == 0)
            speed.first_token_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        const auto& stops = settings_.stop_ids;
        if (std::find(stops.begin(), stops.end(), token.id) == stops.end()) print(shown.add(text.add(token.id)));
        return !interrupted && !text.stopped();
    });
    print(shown.add(text.finish()) + shown.finish());
    print("\n");
    messages_.push_back({.role = "assistant", .content = text.whole()});
    speed.reused = conversation_.reused();
    speed.prefill_seconds = generated.prefill_seconds;
    speed.decode_seconds = generated.decode_seconds;
    speed.decoded_tokens = generated.decoded_tokens;
    if (shows_statistics_) say(speed_line(speed));
    tell_of_room(speed.prompt_tokens + static_cast<std::int64_t>(generated.tokens[0].size()), generated.endings[0]);
}

void ChatSession::tell_of_room(std::int64_t tokens, inference::Ending ending) {
    if (ending == inference::Ending::Context) say(text_of("stopped at ", context_arguments_.name(model_)));
    const bool is_near = context_ > 0 && tokens > context_ / 4 * 3;
    if (!is_near || warned_ || model_.text().chat_template.empty()) return;
    warned_ = true;
    say(text_of("the conversation fills ", 100 * std::min(tokens, context_) / context_, " % of ",
                context_arguments_.name(model_), "; when there is no room left, its oldest turns are left out"));
}

}  // namespace tessera::cli
