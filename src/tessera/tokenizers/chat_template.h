// A chat template: Jinja as Hugging Face folders use it (chat_template of tokenizer_config.json or
// chat_template.jinja), from messages to the text that a model was trained on. Nothing outside the given values can be
// reached, and steps, memory and depth are bounded: a template comes from a stranger.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>

#include "tessera/formats/json.h"
#include "tessera/jinja/limits.h"

namespace tessera::tokenizers {

struct RenderOptions {
    std::optional<std::tm> now = {};  // what strftime_now shows; else the machine's local time
    jinja::Limits limits = {};
};

class ChatTemplate {
   public:
    // `name` is what errors name, with the line: `tokenizer_config.json: chat_template: line 3: unknown filter 'x'`.
    ChatTemplate(const std::string& source, const std::string& name);
    ~ChatTemplate();
    ChatTemplate(ChatTemplate&&) noexcept;
    ChatTemplate& operator=(ChatTemplate&&) noexcept;

    // `values`: an object with messages, tools, add_generation_prompt, bos_token, …
    std::string render(const formats::Json& values, const RenderOptions& options = {}) const;

   private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace tessera::tokenizers
