// Commands of a chat (/undo, /save, …). Each confirms what it has done.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "tessera/cli/commands/chat_session.h"
#include "tessera/cli/terminal/output.h"
#include "tessera/formats/json.h"
#include "tessera/text/utf8.h"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using formats::Json;
using inference::ChatImage;
using inference::ChatMessage;

// The beginning of a message, for a confirmation.
std::string beginning_of(const std::string& text) {
    constexpr std::size_t longest = 40;
    if (text.size() <= longest) return one_line(text);
    std::size_t end = longest;
    while (end > 0 && text::continues_character(text[end])) --end;  // not within a character
    return one_line(text.substr(0, end)) + "…";
}

void confirm(const std::string& text) { std::fprintf(stderr, "%s\n", text.c_str()); }

std::string counted(std::size_t count, const char* what) { return text_of(count, " ", what, count == 1 ? "" : "s"); }

fs::path place_of(const std::string& file) { return fs::weakly_canonical(fs::absolute(file)); }

bool is_free(const std::string& file) {
    std::error_code error;
    return !fs::exists(file, error) || (fs::is_regular_file(file, error) && fs::file_size(file, error) == 0);
}

// Under its absolute path, so that a conversation that names it can be loaded from anywhere.
ChatImage read_chat_image(const std::string& path) {
    return {.path = fs::absolute(path).lexically_normal().string(),
            .pixels = std::make_shared<const formats::Image>(formats::read_image(path))};
}

// Of a conversation in `file`: a relative path begins where the file is, or else where the program runs.
void read_images(std::vector<ChatImage>& images, const std::string& file) {
    for (ChatImage& image : images) {
        const fs::path beside = fs::path(file).parent_path() / image.path;
        image = read_chat_image(fs::exists(beside) ? beside.string() : image.path);
    }
}

// Files once named all images beside the messages: they are what the conversation is about from its beginning.
void add_older_images(const std::vector<std::string>& paths, std::vector<ChatMessage>& messages,
                      std::vector<ChatImage>& next_images) {
    const std::vector<std::size_t> turns = inference::turns_of(messages);
    std::vector<ChatImage>& images = turns.empty() ? next_images : messages[turns.front()].images;
    for (const std::string& path : paths) images.push_back({.path = path});
}

}  // namespace

const std::vector<ChatSession::Command>& ChatSession::commands() {
    static const std::vector<Command> all{
        {"/system", "TEXT", "what the model is told before everything else; nothing: no system message",
         &ChatSession::change_system},
        {"/image", "PATH", "show an image with the next message; several, one after another", &ChatSession::image},
        {"/regenerate", "", "answer the last message once more", &ChatSession::regenerate},
        {"/undo", "", "take the last message and its answer back", &ChatSession::undo},
        {"/reset", "", "begin again; the system message stays", &ChatSession::reset},
        {"/save", "FILE", "write the conversation as JSON", &ChatSession::save},
        {"/save!", "FILE", "the same in place of another conversation", &ChatSession::save_over},
        {"/load", "FILE", "go on with a conversation that /save wrote", &ChatSession::load},
        {"/stats", "on|off", "whether speed is told after each answer", &ChatSession::statistics},
        {"/help", "", "this list", &ChatSession::help},
        {"/quit", "", "leave (or Ctrl-D)", nullptr},
    };
    return all;
}

bool ChatSession::command(const std::string& line) {
    const std::size_t space = line.find_first_of(" \n\t");
    const std::string name = line.substr(0, space);
    const std::size_t begin = space == line.npos ? line.npos : line.find_first_not_of(" \n\t", space);
    const std::string rest = begin == line.npos ? "" : line.substr(begin);
    if (name == "/quit" || name == "/exit") return false;
    const auto& all = commands();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Command& one) { return name == one.name; });
    check(found != all.end(), "there is no command '", name, "'; see /help");
    check(rest.empty() || found->argument[0] != '\0', name, ": takes nothing behind it, found '", rest, "'");
    (this->*found->run)(rest);
    return true;
}

void ChatSession::help(const std::string&) {
    for (const Command& one : commands())
        std::printf("  %-16s %s\n", text_of(one.name, " ", one.argument).c_str(), one.help);
    std::printf(
        "  Ctrl-C stops an answer. Lines that begin with // are sent with one slash.\n"
        "  Alt-Enter, Ctrl-J or a backslash before Enter begin a new line; a pasted text is one message.\n");
    std::fflush(stdout);
}

void ChatSession::change_system(const std::string& text) {
    set_system(text);
    confirm(text.empty() ? "there is no system message"
                         : text_of("the system message is \"", beginning_of(text), "\""));
}

void ChatSession::image(const std::string& path) {
    check(!path.empty(), "/image: the name of a file is missing");
    check(inference::looks_at_images(model_), "/image: this model does not look at images");
    show_image(path);
}

void ChatSession::show_image(const std::string& path) {
    next_images_.push_back(read_chat_image(path));
    const formats::Image& image = *next_images_.back().pixels;
    confirm(fmt::format("{}: {} x {}", one_line(path), image.width, image.height));
}

void ChatSession::regenerate(const std::string&) {
    const std::vector<std::size_t> turns = inference::turns_of(messages_);
    check(!turns.empty(), "/regenerate: there is no message to answer");
    const std::vector<ChatMessage> before = messages_;
    messages_.resize(turns.back() + 1);
    if (settings_.sampler.is_greedy())
        confirm("the model takes the most probable token each time: the answer will be the same");
    try {
        answer();
    } catch (const Error&) {
        messages_ = before;
        throw;
    }
}

void ChatSession::undo(const std::string&) {
    const std::vector<std::size_t> turns = inference::turns_of(messages_);
    check(!turns.empty(), "/undo: there is no message to take back");
    const ChatMessage message = messages_[turns.back()];
    messages_.resize(turns.back());
    const std::size_t images = message.images.size();
    confirm(fmt::format("took back \"{}\"{}; {} {} left", beginning_of(message.content),
                        images > 0 ? fmt::format(" and {}", counted(images, "image")) : "",
                        counted(turns.size() - 1, "turn"), turns.size() == 2 ? "is" : "are"));
}

void ChatSession::reset(const std::string&) {
    messages_.clear();
    next_images_.clear();
    turns_told_ = 0;
    warned_ = false;
    confirm(system_.empty() ? "begun again" : "begun again; the system message stays");
}

void ChatSession::save(const std::string& file) {
    check(!file.empty(), "/save: the name of a file is missing");
    check(own_files_.contains(place_of(file)) || is_free(file), file,
          ": is there already; /save! writes over it, or name another file");
    write(file);
}

void ChatSession::save_over(const std::string& file) {
    check(!file.empty(), "/save!: the name of a file is missing");
    write(file);
}

void ChatSession::write(const std::string& file) {
    check_output_file(file, "{\n  \"messages\": ", {});
    Json::object().set("messages", inference::to_json(with_system())).write(file);
    own_files_.insert(place_of(file));
    confirm(fmt::format("saved to {}", one_line(file)));
}

void ChatSession::load(const std::string& file) {
    check(!file.empty(), "/load: the name of a file is missing");
    const formats::Config saved(Json::read(file), file);
    std::vector<ChatMessage> messages = inference::messages_of(saved);
    const std::vector<std::string> older = saved.has("images") ? saved.texts("images") : std::vector<std::string>();
    std::vector<inference::ChatImage> next_images;
    add_older_images(older, messages, next_images);
    std::size_t count = next_images.size();
    for (ChatMessage& message : messages) count += message.images.size();
    if (!inference::looks_at_images(model_)) {
        for (ChatMessage& message : messages) message.images.clear();
        next_images.clear();
    }
    for (ChatMessage& message : messages) read_images(message.images, file);
    read_images(next_images, file);
    const bool has_system = !messages.empty() && messages.front().role == "system";
    system_ = has_system ? messages.front().content : "";
    if (has_system) messages.erase(messages.begin());
    messages_ = std::move(messages);
    next_images_ = std::move(next_images);
    own_files_.insert(place_of(file));
    turns_told_ = 0;
    warned_ = false;
    const bool sees = inference::looks_at_images(model_);
    confirm(fmt::format("loaded {}{}{} from {}", counted(messages_.size(), "message"),
                        has_system ? " and the system message" : "",
                        count == 0 ? ""
                        : sees     ? fmt::format(" and {}", counted(count, "image"))
                               : fmt::format(" without {}, which this model does not look at", counted(count, "image")),
                        one_line(file)));
}

void ChatSession::statistics(const std::string& wanted) {
    check(wanted.empty() || wanted == "on" || wanted == "off", "/stats: expected on or off, found '", wanted, "'");
    show_statistics(wanted.empty() ? !shows_statistics_ : wanted == "on");
    confirm(shows_statistics_ ? "speed is told after each answer" : "speed is no longer told");
}

}  // namespace tessera::cli
