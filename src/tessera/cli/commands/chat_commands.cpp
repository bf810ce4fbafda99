// Commands of a chat (/undo, /save, …). Each confirms what it has done.
#include <algorithm>
#include <cstdio>

#include "tessera/cli/commands/chat_session.h"
#include "tessera/cli/terminal/output.h"
#include "tessera/formats/json.h"
#include "tessera/text/utf8.h"

namespace tessera::cli {
namespace {

using formats::Json;
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

// Images stay for the questions that follow, until the next ones are shown.
void ChatSession::show_image(const std::string& path) {
    const formats::Image image = formats::read_image(path);
    if (asked_about_images_) {
        images_.clear();
        image_paths_.clear();
    }
    asked_about_images_ = false;
    images_.push_back(image);
    image_paths_.push_back(path);
    confirm(text_of(one_line(path), ": ", image.width, " x ", image.height));
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
    const std::string text = messages_[turns.back()].content;
    messages_.resize(turns.back());
    turns_left_out_ = 0;  // there may be room again
    confirm(text_of("took back \"", beginning_of(text), "\"; ", counted(turns.size() - 1, "turn"),
                    turns.size() == 2 ? " is left" : " are left"));
}

void ChatSession::reset(const std::string&) {
    messages_.clear();
    images_.clear();
    image_paths_.clear();
    turns_left_out_ = 0;
    warned_ = false;
    confirm(system_.empty() ? "begun again" : "begun again; the system message stays");
}

void ChatSession::save(const std::string& file) {
    check(!file.empty(), "/save: the name of a file is missing");
    check_output_file(file, "{\n  \"messages\": ", {});
    Json all = Json::object().set("messages", inference::to_json(with_system()));
    Json images = Json::array();
    for (const std::string& path : image_paths_) images.push_back(path);
    if (!image_paths_.empty()) all.set("images", std::move(images));
    all.write(file);
    confirm(text_of("saved to ", one_line(file)));
}

void ChatSession::load(const std::string& file) {
    check(!file.empty(), "/load: the name of a file is missing");
    const formats::Config saved(Json::read(file), file);
    std::vector<ChatMessage> messages = inference::messages_of(saved);
    std::vector<formats::Image> images;
    std::vector<std::string> paths;
    if (saved.has("images") && inference::looks_at_images(model_)) paths = saved.texts("images");
    for (const std::string& path : paths) images.push_back(formats::read_image(path));
    const bool has_system = !messages.empty() && messages.front().role == "system";
    system_ = has_system ? messages.front().content : "";
    if (has_system) messages.erase(messages.begin());
    messages_ = std::move(messages);
    images_ = std::move(images);
    image_paths_ = std::move(paths);
    asked_about_images_ = !images_.empty();
    turns_left_out_ = 0;
    warned_ = false;
    confirm(text_of("loaded ", counted(messages_.size(), "message"), has_system ? " and the system message" : "",
                    images_.empty() ? "" : text_of(" and ", counted(images_.size(), "image")), " from ",
                    one_line(file)));
}

void ChatSession::statistics(const std::string& wanted) {
    check(wanted.empty() || wanted == "on" || wanted == "off", "/stats: expected on or off, found '", wanted, "'");
    show_statistics(wanted.empty() ? !shows_statistics_ : wanted == "on");
    confirm(shows_statistics_ ? "speed is told after each answer" : "speed is no longer told");
}

}  // namespace tessera::cli
