#include "tessera/tokenizers/chat.h"

#include "tessera/core/error.h"

namespace tessera::tokenizers {

using formats::Json;

Json chat_message(const std::string& role, const std::string& text, int images) {
    Json message = Json::object();
    message.set("role", role);
    if (images == 0) return message.set("content", text);
    Json parts = Json::array();
    for (int i = 0; i < images; ++i) parts.push_back(Json::object().set("type", "image"));
    if (!text.empty()) parts.push_back(Json::object().set("type", "text").set("text", text));
    return message.set("content", std::move(parts));
}

Json chat_values(const Tokenizer& tokenizer, const Json& messages, const ChatOptions& options) {
    check(messages.is_array(), "chat: the messages must be a list, found ", messages);
    Json values = Json::object();
    values.set("messages", messages)
        .set("tools", options.tools)
        .set("documents", options.documents)
        .set("add_generation_prompt", options.add_generation_prompt);
    const SpecialTokens& special = tokenizer.special;
    const std::pair<const char*, std::optional<std::int64_t>> tokens[] = {
        {"bos_token", special.bos},       {"eos_token", special.eos},     {"unk_token", special.unknown},
        {"sep_token", special.separator}, {"pad_token", special.padding}, {"cls_token", special.classifier},
        {"mask_token", special.mask},
    };
    for (const auto& [name, id] : tokens)
        if (id) values.set(name, tokenizer.token(*id));
    for (const auto& [name, value] : options.more.members()) values.set(name, value);
    return values;
}

std::string render_chat(const Tokenizer& tokenizer, const Json& messages, const ChatOptions& options) {
    check(!tokenizer.chat_template.empty(),
          "this tokenizer has no chat template (chat_template in "
          "tokenizer_config.json, or chat_template.jinja)");
    const ChatTemplate chat(tokenizer.chat_template, "chat_template");
    return chat.render(chat_values(tokenizer, messages, options), options.rendering);
}

}  // namespace tessera::tokenizers
