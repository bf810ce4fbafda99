#include "tessera/inference/chat.h"

#include <algorithm>

#include "tessera/models/catalog.h"
#include "tessera/models/vision/vision.h"
#include "tessera/tokenizers/chat.h"

namespace tessera::inference {

formats::Json to_json(const std::vector<ChatMessage>& messages) {
    formats::Json list = formats::Json::array();
    for (const ChatMessage& message : messages) list.push_back(tokenizers::chat_message(message.role, message.content));
    return list;
}

std::vector<ChatMessage> messages_of(const formats::Config& config) {
    std::vector<ChatMessage> messages;
    const formats::Json* list = config.json().find("messages");
    if (list == nullptr || !list->is_array()) config.reject("messages", "expected a list of messages");
    for (std::size_t i = 0; i < list->items().size(); ++i) {
        const formats::Config one(list->items()[i], config.source(), text_of("messages[", i, "]"));
        ChatMessage message{.role = one.text("role"), .content = one.text("content")};
        if (message.role != "user" && message.role != "assistant" && !(message.role == "system" && i == 0))
            one.reject("role",
                       text_of("expected user or assistant, or system at the beginning, found \"", message.role, "\""));
        messages.push_back(std::move(message));
    }
    return messages;
}

Prompt chat_prompt(const models::OpenedModel& model, const std::vector<ChatMessage>& messages) {
    check(!model.text().chat_template.empty(), model.path.string(),
          ": no chat template (chat_template.jinja, or chat_template in tokenizer_config.json)");
    return {.text = tokenizers::render_chat(model.text(), to_json(messages)), .is_whole = true};
}

std::vector<std::size_t> turns_of(const std::vector<ChatMessage>& messages) {
    std::vector<std::size_t> begins;
    for (std::size_t at = 0; at < messages.size(); ++at)
        if (messages[at].role == "user") begins.push_back(at);
    return begins;
}

std::size_t first_shown(const std::vector<ChatMessage>& messages, std::int64_t most,
                        const std::function<std::int64_t(std::size_t first)>& count) {
    if (messages.empty() || count(0) <= most) return 0;
    // What is shown from a later turn on is shorter.
    const std::vector<std::size_t> turns = turns_of(messages);
    if (turns.empty()) return 0;
    return *std::partition_point(turns.begin(), turns.end() - 1,
                                 [&](std::size_t first) { return count(first) > most; });
}

Chat::Chat(const models::OpenedModel& model) : model_(model), generator_(model) {
    check(!model.model->has_encoder(), model.path.string(), ": an encoder-decoder does not chat");
}

// As ids, but where images have to be put among them.
Prompt Chat::prompt_of(const std::vector<ChatMessage>& messages) const {
    const bool sees = looks_at_images(model_);
    if (sees && model_.text().chat_template.empty()) return {.text = messages.back().content};
    const Prompt prompt = chat_prompt(model_, messages);
    return sees ? prompt : Prompt{.ids = ids_of(model_, prompt)};
}

std::int64_t Chat::tokens_of(const Prompt& prompt, std::size_t images) const {
    if (!prompt.ids.empty()) return static_cast<std::int64_t>(prompt.ids.size());
    const auto put_together = models::architecture_of(model_.config).vision->prompt;
    const models::ImagePrompt about{.text = prompt.text, .images = static_cast<std::int64_t>(images)};
    return static_cast<std::int64_t>(put_together(model_.config, model_.text(), about).ids.size());
}

ChatAnswer Chat::answer(const ChatRequest& request, const OnPiece& on_piece) {
    check(!request.messages.empty(), "chat: there is no message to answer");
    GenerationRequest generation = request.generation;
    if (!generation.settings) generation.settings = settings_of(model_);
    generation.settings->beams.count = 1;  // what beams find cannot be streamed
    const std::ptrdiff_t system = request.messages.front().role == "system" ? 1 : 0;
    const std::vector<ChatMessage> messages(request.messages.begin() + system, request.messages.end());
    std::optional<std::size_t> shown_from;
    const auto show = [&](std::size_t first) {
        if (shown_from == first) return;
        std::vector<ChatMessage> shown(request.messages.begin(), request.messages.begin() + system);
        shown.insert(shown.end(), messages.begin() + static_cast<std::ptrdiff_t>(first), messages.end());
        generation.prompts = {prompt_of(shown)};
        shown_from = first;
    };
    // As much as leaves room for an answer of some length; of the last turn, what fits at all.
    const std::int64_t context = context_under(generation.context, *model_.model);
    const std::int64_t wanted = generation.settings->most_new_tokens(0, generation.usual_new_tokens);
    std::size_t first = 0;
    if (context > 0)
        first = first_shown(messages, context - std::min(wanted, context / 4), [&](std::size_t from) {
            show(from);
            return tokens_of(generation.prompts[0], generation.images.size());
        });
    show(first);
    ChatAnswer out;
    if (first > 0) {
        const std::vector<std::size_t> turns = turns_of(messages);
        const auto before = std::lower_bound(turns.begin(), turns.end(), first) - turns.begin();
        out.turns_left_out = static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, before));
        if (request.on_left_out) request.on_left_out(out.turns_left_out);
    }
    GenerationResult result = generator_.generate(generation, on_piece);
    out.answer = std::move(result.texts[0]);
    out.timings = result.timings;
    return out;
}

}  // namespace tessera::inference
