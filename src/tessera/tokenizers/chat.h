// A conversation to the text that the model was trained on: the tokenizer's chat template over the messages and its
// special tokens.
#pragma once

#include <string>

#include "tessera/formats/json.h"
#include "tessera/tokenizers/chat_template.h"
#include "tessera/tokenizers/tokenizer.h"

namespace tessera::tokenizers {

struct ChatOptions {
    bool add_generation_prompt = true;  // the text ends where the assistant's answer begins
    formats::Json tools = {};           // a list of function descriptions, or null
    formats::Json documents = {};
    formats::Json more = formats::Json::object();  // other values that a template reads, such as enable_thinking
    RenderOptions rendering = {};
};

// {"role": …, "content": …}; with images the content is a list of parts, the images first.
formats::Json chat_message(const std::string& role, const std::string& text, int images = 0);

// What a template sees: messages, tools, documents, add_generation_prompt, bos_token, eos_token, …
formats::Json chat_values(const Tokenizer& tokenizer, const formats::Json& messages, const ChatOptions& options = {});

// Throws where the tokenizer has no chat template.
std::string render_chat(const Tokenizer& tokenizer, const formats::Json& messages, const ChatOptions& options = {});

}  // namespace tessera::tokenizers
