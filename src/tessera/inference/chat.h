// A conversation with a model: messages in, the answer to the last of them out, piece by piece.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/formats/config.h"
#include "tessera/inference/generator.h"

namespace tessera::inference {

struct ChatImage {
    std::string path = {};                              // where it was read from
    std::shared_ptr<const formats::Image> pixels = {};  // null until it is read
};

struct ChatMessage {
    std::string role = "user";  // system, user, assistant
    std::string content = {};
    std::vector<ChatImage> images = {};  // shown with it, before its text
};

// With images, a message's content is a list of parts, {"type": "image", "path": …} and {"type": "text", …}.
formats::Json to_json(const std::vector<ChatMessage>& messages);
// The field `messages` of a saved conversation or of a request; images are named and not read. Throws naming what is
// no message.
std::vector<ChatMessage> messages_of(const formats::Config& config);
// The messages in the model's chat template, up to where the assistant's answer begins. Throws where it has none.
Prompt chat_prompt(const models::OpenedModel& model, const std::vector<ChatMessage>& messages);

// Where turns begin: what a person says, with the answers to it.
std::vector<std::size_t> turns_of(const std::vector<ChatMessage>& messages);

// The first message that is still shown: one that begins a turn, so that whole turns are left out, the oldest first,
// until `count`, the tokens of what is shown from a message on, is at most `most`. The last turn stays in any case.
std::size_t first_shown(const std::vector<ChatMessage>& messages, std::int64_t most,
                        const std::function<std::int64_t(std::size_t first)>& count);

struct ChatRequest {
    std::vector<ChatMessage> messages = {};  // a system message first, where there is one; the last is answered
    GenerationRequest generation = {};       // how; the prompts and images are the messages'
    // Told before the answer how many of the oldest turns the model is not shown, for want of room in its context.
    std::function<void(std::size_t turns)> on_left_out = {};
};

struct ChatAnswer {
    GeneratedText answer = {};
    GenerationTimings timings = {};
    std::size_t turns_left_out = 0;
};

// What a conversation has in common with the one answered before is not read again. A model that looks at images and
// has no template is asked the last message alone. Where no message that is shown has an image, the last ones shown
// before stand with it.
class Chat {
   public:
    explicit Chat(const models::OpenedModel& model);

    ChatAnswer answer(const ChatRequest& request, const OnPiece& on_piece = {});

   private:
    std::vector<ChatMessage> shown_of(const std::vector<ChatMessage>& all, std::size_t first) const;
    Prompt prompt_of(const std::vector<ChatMessage>& shown, std::int64_t most) const;
    std::int64_t tokens_of(const Prompt& prompt, std::size_t images) const;

    const models::OpenedModel& model_;
    Generator generator_;
};

}  // namespace tessera::inference
