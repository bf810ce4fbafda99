#include "tessera/inference/chat_prompt.h"

#include "tessera/tokenizers/chat.h"

namespace tessera::inference {

formats::Json to_json(const std::vector<ChatMessage>& messages) {
    formats::Json list = formats::Json::array();
    for (const ChatMessage& message : messages) list.push_back(tokenizers::chat_message(message.role, message.content));
    return list;
}

Prompt chat_prompt(const TextModel& model, const std::vector<ChatMessage>& messages) {
    check(!model.text().chat_template.empty(), model.path.string(),
          ": no chat template (chat_template.jinja, or chat_template in tokenizer_config.json); try tessera generate");
    return {.text = tokenizers::render_chat(model.text(), to_json(messages)), .is_whole = true};
}

}  // namespace tessera::inference
