#include "tessera/inference/chat.h"

#include <algorithm>

#include "tessera/models/catalog.h"
#include "tessera/models/vision/vision.h"
#include "tessera/tokenizers/chat.h"

namespace tessera::inference {

formats::Json to_json(const std::vector<ChatMessage>& messages) {
    formats::Json list = formats::Json::array();
    for (const ChatMessage& message : messages) {
        if (message.images.empty()) {
            list.push_back(tokenizers::chat_message(message.role, message.content));
            continue;
        }
        formats::Json parts = formats::Json::array();
        for (const ChatImage& image : message.images)
            parts.push_back(formats::Json::object().set("type", "image").set("path", image.path));
        if (!message.content.empty())
            parts.push_back(formats::Json::object().set("type", "text").set("text", message.content));
        list.push_back(formats::Json::object().set("role", message.role).set("content", std::move(parts)));
    }
    return list;
}

namespace {

// A text, or a list of parts.
void read_content(const formats::Config& config, const std::string& section, ChatMessage& message) {
    const formats::Json* content = config.json().find("content");
    if (content == nullptr || !content->is_array()) {
        message.content = config.text("content");
        return;
    }
    for (std::size_t i = 0; i < content->items().size(); ++i) {
        const formats::Config part(content->items()[i], config.source(), text_of(section, ".content[", i, "]"));
        const std::string type = part.text("type");
        if (type == "text") {
            message.content += text_of(message.content.empty() ? "" : "\n", part.text("text"));
        } else if (type == "image") {
            if (message.role != "user") part.reject("type", "only a user's message shows an image");
            message.images.push_back({.path = part.text("path")});
        } else {
            part.reject("type", text_of("expected text or image, found \"", type, "\""));
        }
    }
}

std::vector<formats::Image> images_of(const std::vector<ChatMessage>& messages) {
    std::vector<formats::Image> images;
    for (const ChatMessage& message : messages)
        for (const ChatImage& image : message.images) {
            check(image.pixels != nullptr, image.path, ": the image has not been read");
            images.push_back(*image.pixels);
        }
    return images;
}

}  // namespace

std::vector<ChatMessage> messages_of(const formats::Config& config) {
    std::vector<ChatMessage> messages;
    const formats::Json* list = config.json().find("messages");
    if (list == nullptr || !list->is_array()) config.reject("messages", "expected a list of messages");
    for (std::size_t i = 0; i < list->items().size(); ++i) {
        const std::string section = text_of("messages[", i, "]");
        const formats::Config one(list->items()[i], config.source(), section);
        ChatMessage message{.role = one.text("role")};
        if (message.role != "user" && message.role != "assistant" && !(message.role == "system" && i == 0))
            one.reject("role",
                       text_of("expected user or assistant, or system at the beginning, found \"", message.role, "\""));
        read_content(one, section, message);
        messages.push_back(std::move(message));
    }
    return messages;
}

// Templates of models that look at images read a message's content as a list of parts; others print it as it is. A part
// that comes out alone was read.
static bool reads_parts(const tokenizers::Tokenizer& tokenizer) {
    const std::string mark = "7d1f5ac2";
    formats::Json parts = formats::Json::array(), messages = formats::Json::array();
    parts.push_back(formats::Json::object().set("type", "text").set("text", mark));
    messages.push_back(formats::Json::object().set("role", "user").set("content", std::move(parts)));
    try {
        const std::string text = tokenizers::render_chat(tokenizer, messages);
        return text.find(mark) != text.npos && text.find("type") == text.npos;
    } catch (const Error&) {
        return false;
    }
}

Prompt chat_prompt(const models::OpenedModel& model, const std::vector<ChatMessage>& messages) {
    check(!model.text().chat_template.empty(), model.path.string(),
          ": no chat template (chat_template.jinja, or chat_template in tokenizer_config.json)");
    const auto has_images = [](const ChatMessage& message) { return !message.images.empty(); };
    std::vector<ChatMessage> read = messages;
    if (std::any_of(read.begin(), read.end(), has_images) && !reads_parts(model.text()))
        for (ChatMessage& message : read) message.images.clear();
    return {.text = tokenizers::render_chat(model.text(), to_json(read)), .is_whole = true};
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
Prompt Chat::prompt_of(const std::vector<ChatMessage>& shown, std::int64_t most) const {
    const bool sees = looks_at_images(model_);
    if (sees && model_.text().chat_template.empty()) return {.text = shown.back().content};
    const Prompt prompt = chat_prompt(model_, shown);
    return sees ? prompt : Prompt{.ids = ids_of(model_, prompt, most)};
}

std::int64_t Chat::tokens_of(const Prompt& prompt, std::size_t images) const {
    if (!prompt.ids.empty()) return static_cast<std::int64_t>(prompt.ids.size());
    const auto put_together = models::architecture_of(model_.config).vision->prompt;
    const models::ImagePrompt about{.text = prompt.text, .images = static_cast<std::int64_t>(images)};
    return static_cast<std::int64_t>(put_together(model_.config, model_.text(), about).ids.size());
}

// The system message, and the messages from `first` on, with the images shown last where they have none of their own.
std::vector<ChatMessage> Chat::shown_of(const std::vector<ChatMessage>& all, std::size_t first) const {
    const std::size_t system = all.front().role == "system" ? 1 : 0;
    std::vector<ChatMessage> shown(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(system));
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(system + first);
    shown.insert(shown.end(), begin, all.end());
    const auto has_images = [](const ChatMessage& message) { return !message.images.empty(); };
    if (system + first == all.size() || std::any_of(begin, all.end(), has_images)) return shown;
    const auto before = std::find_if(std::make_reverse_iterator(begin), all.rend(), has_images);
    if (before != all.rend()) shown[system].images = before->images;
    return shown;
}

ChatAnswer Chat::answer(const ChatRequest& request, const OnPiece& on_piece) {
    check(!request.messages.empty(), "chat: there is no message to answer");
    GenerationRequest generation = request.generation;
    if (!generation.settings) generation.settings = settings_of(model_);
    generation.settings->beams.count = 1;  // what beams find cannot be streamed
    const bool sees = looks_at_images(model_);
    const std::ptrdiff_t system = request.messages.front().role == "system" ? 1 : 0;
    const std::vector<ChatMessage> messages(request.messages.begin() + system, request.messages.end());
    const bool only_last = sees && model_.text().chat_template.empty() && !messages.empty();
    std::optional<std::size_t> shown_from;
    std::vector<formats::Image> images;
    const std::int64_t context = context_under(generation.context, *model_.model);
    const std::int64_t readable = generation.context.end == AtContext::Shift ? 0 : context;
    const auto show = [&](std::size_t first) {
        if (shown_from == first) return;
        const std::vector<ChatMessage> shown = shown_of(request.messages, first);
        generation.prompts = {prompt_of(shown, readable)};
        if (sees) images = images_of(shown);
        generation.images = images;
        shown_from = first;
    };
    // As much as leaves room for an answer of some length; of the last turn, what fits at all.
    const std::int64_t wanted = generation.settings->most_new_tokens(0, generation.usual_new_tokens);
    std::size_t first = only_last ? messages.size() - 1 : 0;
    if (context > 0 && !only_last)
        first = first_shown(messages, context - std::min(wanted, context / 4), [&](std::size_t from) {
            try {
                show(from);
            } catch (const PromptTooLong& error) {
                return error.tokens;
            }
            return tokens_of(generation.prompts[0], generation.images.size());
        });
    show(first);
    ChatAnswer out;
    if (first > 0 && !only_last) {
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
