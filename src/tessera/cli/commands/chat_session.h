// A conversation on a terminal or through a pipe: what is said, and the commands among it.
#pragma once

#include <string>
#include <vector>

#include "tessera/cli/arguments/context_arguments.h"
#include "tessera/cli/arguments/generation_arguments.h"
#include "tessera/formats/image/image.h"
#include "tessera/inference/chat_prompt.h"
#include "tessera/inference/conversation.h"

namespace tessera::cli {

bool looks_at_images(const inference::TextModel& model);

class ChatSession {
   public:
    ChatSession(const inference::TextModel& model, const GenerationArguments& how, const ContextArguments& context);

    // False: the person wants to leave.
    bool take(const std::string& text);
    void set_system(const std::string& text) { system_ = text; }
    void show_image(const std::string& path);
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
    void load(const std::string& file);
    void statistics(const std::string& wanted);

    struct Question {
        std::vector<std::int64_t> ids;
        models::Batch batch;
    };
    Question question(std::size_t first);
    Question fitting_question(std::int64_t room, std::size_t& first);
    std::vector<inference::ChatMessage> with_system(std::size_t first) const;
    void answer();
    void tell_of_room(std::int64_t tokens, inference::Ending ending);

    const inference::TextModel& model_;
    const GenerationArguments& how_;
    const ContextArguments& context_arguments_;
    inference::GenerationSettings settings_;
    inference::ContextRule rule_;
    std::int64_t context_;  // tokens; 0: no end is known
    inference::Conversation conversation_;
    std::string system_;
    std::vector<inference::ChatMessage> messages_;
    std::size_t first_shown_ = 0;  // of them: those before have been left out for want of room
    bool warned_ = false;
    std::vector<formats::Image> images_;
    std::vector<std::string> image_paths_;
    bool asked_about_images_ = false, shows_statistics_ = true;
    std::uint64_t turn_ = 0;
};

}  // namespace tessera::cli
