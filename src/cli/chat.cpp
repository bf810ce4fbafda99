// tessera chat: a conversation with a model.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>

#include "cli/commands.h"
#include "cli/generation_arguments.h"
#include "cli/line_reader.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "formats/image.h"
#include "formats/json.h"
#include "inference/chat_prompt.h"
#include "inference/conversation.h"
#include "inference/picture_prompt.h"
#include "inference/streamed_text.h"
#include "models/catalog.h"
#include "models/vision.h"

namespace tessera::cli {
namespace {

using inference::ChatMessage;
using inference::TextModel;

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

bool looks_at_pictures(const TextModel& model) {
    const models::Vision* vision = models::architecture_of(model.config).vision;
    return vision && vision->prompt;
}

constexpr const char* help =
    R"(  /system TEXT   what the model is told before everything else; nothing: no system message
  /image PATH    show a picture with the next message
  /reset         begin again; the system message stays
  /save FILE     write the conversation as JSON
  /help          this list
  /quit          leave (or Ctrl-D)
  Ctrl-C stops an answer. Lines that begin with // are sent with one slash.
)";

class Chat {
   public:
    Chat(const TextModel& model, const GenerationArguments& how)
        : model_(model), how_(how), settings_(how.applied(model)), conversation_(*model.model) {}

    // False: the person wants to leave.
    bool take(const std::string& line) {
        if (line.empty()) return true;
        if (line[0] == '/' && !line.starts_with("//")) return command(line);
        messages_.push_back({.role = "user", .content = line.starts_with("//") ? line.substr(1) : line});
        try {
            answer();
        } catch (const Error&) {
            messages_.pop_back();
            throw;
        }
        return true;
    }

    void set_system(const std::string& text) { system_ = text; }

   private:
    bool command(const std::string& line) {
        const std::size_t space = line.find(' ');
        const std::string name = line.substr(0, space);
        const std::size_t begin = space == line.npos ? line.npos : line.find_first_not_of(' ', space);
        const std::string rest = begin == line.npos ? "" : line.substr(begin);
        if (name == "/quit" || name == "/exit") return false;
        if (name == "/help")
            std::fputs(help, stdout);
        else if (name == "/reset")
            reset();
        else if (name == "/system")
            set_system(rest);
        else if (name == "/save")
            save(rest);
        else if (name == "/image")
            show(rest);
        else
            fail("there is no command '", name, "'; see /help");
        return true;
    }

    void reset() {
        messages_.clear();
        pictures_.clear();
    }

    // Pictures stay for the questions that follow, until the next ones are shown.
    void show(const std::string& path) {
        check(!path.empty(), "/image: the name of a file is missing");
        check(looks_at_pictures(model_), "/image: this model does not look at pictures");
        const formats::Image picture = formats::read_image(path);
        if (asked_about_pictures_) pictures_.clear();
        asked_about_pictures_ = false;
        pictures_.push_back(picture);
        std::fprintf(stderr, "%s: %lld x %lld\n", one_line(path).c_str(), static_cast<long long>(picture.width),
                     static_cast<long long>(picture.height));
    }

    struct Question {
        std::vector<std::int64_t> ids;
        models::Batch batch;
    };

    // The conversation so far; for a model without a template, the last message alone.
    Question question() {
        const bool has_template = !model_.text().chat_template.empty();
        const inference::Prompt prompt = has_template ? inference::chat_prompt(model_, with_system())
                                                      : inference::Prompt{.text = messages_.back().content};
        if (!looks_at_pictures(model_))
            return {inference::ids_of(model_, prompt), inference::batch_for(model_, {prompt})};
        check(!pictures_.empty(), "this model talks about pictures: show it one with /image PATH");
        asked_about_pictures_ = true;
        inference::PicturePrompts about = inference::picture_prompts(
            model_.path, model_.config, model_.text(), std::span(&prompt.text, 1), pictures_, model_.device);
        return {std::move(about.ids[0]), std::move(about.batch)};
    }

    std::vector<ChatMessage> with_system() const {
        std::vector<ChatMessage> all;
        if (!system_.empty()) all.push_back({.role = "system", .content = system_});
        all.insert(all.end(), messages_.begin(), messages_.end());
        return all;
    }

    void answer() {
        const auto [ids, batch] = question();
        inference::GenerateOptions options =
            generate_options(settings_, inference::prompt_length(*model_.model, batch), 1024);
        options.sampler.seed = settings_.sampler.seed + turn_++;
        inference::StreamedText text(*model_.tokenizer, ids, how_.stops);
        Speed speed{.prompt_tokens = static_cast<std::int64_t>(ids.size())};
        const auto start = std::chrono::steady_clock::now();
        const InterruptGuard guard;
        const inference::Generated generated =
            conversation_.answer(batch, options, [&](const inference::NewToken& token) {
                if (speed.first_token_seconds == 0)
                    speed.first_token_seconds =
                        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
                const auto& stops = settings_.stop_ids;
                if (std::find(stops.begin(), stops.end(), token.id) == stops.end()) print(text.add(token.id));
                return !interrupted && !text.stopped();
            });
        print(text.finish());
        print("\n");
        messages_.push_back({.role = "assistant", .content = text.whole()});
        speed.reused = conversation_.reused();
        speed.read_seconds = generated.read_seconds;
        speed.step_seconds = generated.step_seconds;
        speed.fed = generated.fed;
        std::fprintf(stderr, "%s\n",
                     is_error_terminal() ? faint(speed_line(speed)).c_str() : speed_line(speed).c_str());
    }

    static void print(const std::string& piece) {
        std::fwrite(piece.data(), 1, piece.size(), stdout);
        std::fflush(stdout);
        check_output();
    }

    void save(const std::string& file) const {
        check(!file.empty(), "/save: the name of a file is missing");
        check_output_file(file, "{\n  \"messages\": ", {});
        formats::Json::object().set("messages", inference::json_of(with_system())).write(file);
        std::fprintf(stderr, "saved to %s\n", one_line(file).c_str());
    }

    const TextModel& model_;
    const GenerationArguments& how_;
    inference::GenerationSettings settings_;
    inference::Conversation conversation_;
    std::string system_;
    std::vector<ChatMessage> messages_;
    std::vector<formats::Image> pictures_;
    bool asked_about_pictures_ = false;
    std::uint64_t turn_ = 0;
};

}  // namespace

int chat_command(const std::vector<std::string>& arguments) {
    std::string folder, tokenizer, adapter, system, device = "cpu";
    GenerationArguments how;
    Arguments parser("chat", "A conversation with a model, line by line. In it, /help lists what else can be said.",
                     "tessera chat DIR --system \"Answer in one sentence.\"");
    parser.positional("DIR", folder, "a folder of the Hub's layout or of adapters, or a .gguf file");
    parser.option("--system", system, "what the model is told before everything else");
    parser.option("--tokenizer", tokenizer, "a tokenizer's file or folder, where it is not the model's own");
    parser.option("--adapter", adapter, "a folder of LoRA adapters to apply to the model");
    how.declare_stops(parser);
    how.declare_sampling(parser);
    parser.device(device);
    if (const auto status = parser.parse(arguments)) return *status;
    const TextModel model =
        inference::open_text_model(folder, tokenizer, device_named(device), inference::NeedsTokenizer::yes, adapter);
    check(!model.model->has_encoder(), folder, ": an encoder-decoder does not chat; see tessera translate");
    // Without a template, refused at once; who talks about pictures needs none.
    if (!looks_at_pictures(model)) inference::chat_prompt(model, {{.role = "user", .content = "hello"}});
    Chat chat(model, how);
    chat.set_system(system);
    LineReader reader;
    if (reader.is_interactive()) std::printf("%s\n", faint("/help lists what can be said; Ctrl-D leaves").c_str());
    while (const std::optional<std::string> line = reader.read("> ")) {
        try {
            if (!chat.take(*line)) break;
        } catch (const Error& error) {  // of this line: the conversation goes on
            std::fprintf(stderr, "tessera: %s\n", one_line(error.what()).c_str());
        }
    }
    return 0;
}

}  // namespace tessera::cli
