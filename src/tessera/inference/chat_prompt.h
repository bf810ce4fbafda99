// A conversation as the text that a model was trained on: its chat template.
#pragma once

#include <string>
#include <vector>

#include "tessera/formats/json.h"
#include "tessera/inference/text_model.h"

namespace tessera::inference {

struct ChatMessage {
    std::string role = "user";  // system, user, assistant
    std::string content = {};
};

formats::Json to_json(const std::vector<ChatMessage>& messages);
// Up to where the assistant's answer begins. Throws where the model has no template.
Prompt chat_prompt(const TextModel& model, const std::vector<ChatMessage>& messages);

}  // namespace tessera::inference
