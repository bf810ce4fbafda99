// A conversation on a terminal or through a pipe: what is said, and the commands among it.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tessera/cli/arguments/context_arguments.h"
#include "tessera/cli/arguments/generation_arguments.h"
#include "tessera/inference/chat.h"

namespace tessera::cli {

class ChatSession {
   public:
    ChatSession(const models::OpenedModel& model, const GenerationArguments& how, const ContextArguments& context);

    // False: the person wants to leave.
    bool take(const std::string& text);
    void set_system(const std::string& text);
    void show_image(const std::string& path);  // with the next message
    void show_statistics(bool wanted) { shows_statistics_ = wanted; }

   private:
    // A command of those that begin with a slash, with what stands behind it.
    struct Command {
        const char *name, *argument, *help;
        void (ChatSession::*run)(const std::string& rest);
    };
    static const std::vector<Command>& commands();

    bool command(const std::string& line);
    void help(const std::string&);
    void change_system(const std::string& text);
    void image(const std::string& path);
    void regenerate(const std::string&);
    void undo(const std::string&);
    void reset(const std::string&);
    void save(const std::string& file);
    void save_over(const std::string& file);
    void load(const std::string& file);
    void statistics(const std::string& wanted);

    void write(const std::string& file);
    std::vector<inference::ChatMessage> with_system() const;
    void answer();
    [[noreturn]] void refuse(const inference::PromptTooLong& error) const;
    void tell_of_room(const inference::ChatAnswer& answer);

    const models::OpenedModel& model_;
    const GenerationArguments& how_;
    const ContextArguments& context_arguments_;
    models::GenerationSettings settings_;
    inference::ContextRule rule_;
    inference::Chat chat_;
    std::string system_;
    std::vector<inference::ChatMessage> messages_;
    std::size_t turns_told_ = 0;  // how many of them were said to be left out, for want of room
    bool warned_ = false;
    std::vector<inference::ChatImage> next_images_;  // of the message to come
    std::set<std::filesystem::path> own_files_;      // that were saved to or loaded from
    bool shows_statistics_ = true;
    std::uint64_t turn_ = 0;
};

}  // namespace tessera::cli
