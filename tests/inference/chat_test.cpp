// Conversations: what the model is shown of them, what is read again, and which turns are left out for want of room.
#include "tessera/inference/chat.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/tiny_text_model.h"

namespace tessera::inference {
namespace {

// Messages by their roles' first letters, each of so many tokens.
std::vector<ChatMessage> conversation(const std::string& roles) {
    std::vector<ChatMessage> messages;
    for (const char role : roles) messages.push_back({.role = role == 'u' ? "user" : "assistant", .content = "text"});
    return messages;
}

std::size_t shown_from(const std::string& roles, std::int64_t most, std::int64_t each = 10) {
    const auto messages = conversation(roles);
    return first_shown(messages, most, [&](std::size_t first) {
        EXPECT_TRUE(first == 0 || messages[first].role == "user");
        return static_cast<std::int64_t>(messages.size() - first) * each;
    });
}

TEST(ChatTurns, WholeTurnsAreLeftOutUntilTheRestFits) {
    EXPECT_EQ(shown_from("uauau", 50), 0u);
    EXPECT_EQ(shown_from("uauau", 49), 2u);
    EXPECT_EQ(shown_from("uauau", 30), 2u);
    EXPECT_EQ(shown_from("uauau", 29), 4u);
    EXPECT_EQ(shown_from("uauau", 1), 4u);    // the last stays, and is too long
    EXPECT_EQ(shown_from("uaauau", 40), 3u);  // both answers leave with their question
    EXPECT_EQ(shown_from("auau", 30), 1u);    // an answer to nothing leaves first
    EXPECT_EQ(shown_from("u", 1), 0u);
    EXPECT_EQ(shown_from("aa", 1), 0u);
    EXPECT_EQ(shown_from("", 1), 0u);
}

TEST(ChatTurns, AreCountedFewTimes) {
    std::string roles;
    for (int turn = 0; turn < 5000; ++turn) roles += "ua";
    const auto messages = conversation(roles + "u");
    int counted = 0;
    const std::size_t first = first_shown(messages, 100, [&](std::size_t from) {
        ++counted;
        return static_cast<std::int64_t>(messages.size() - from);
    });
    EXPECT_EQ(messages.size() - first, 99u);
    EXPECT_LE(counted, 15);
}

TEST(ChatMessages, AreReadAsTheyAreWritten) {
    const std::vector<ChatMessage> messages{{.role = "system", .content = "Be brief."},
                                            {.role = "user", .content = "a", .images = {{.path = "/cat.png"}}},
                                            {.role = "assistant", .content = "b"},
                                            {.role = "user", .images = {{.path = "1.png"}, {.path = "2.png"}}}};
    const formats::Config file(formats::Json::object().set("messages", to_json(messages)), "saved.json");
    EXPECT_EQ(to_json(messages_of(file)).dump(), to_json(messages).dump());
    const auto expect_refused = [](const char* json, const char* field) {
        testing::expect_error(
            [&] {
                messages_of({formats::Json::parse(json, "saved.json"), "saved.json"});
            },
            {"saved.json", field});
    };
    expect_refused(R"({"messages": [{"role": "user", "content": [{"type": "sound"}]}]})",
                   "messages[0].content[0].type");
    expect_refused(R"({"messages": [{"role": "user", "content": [{"type": "image"}]}]})",
                   "messages[0].content[0].path");
    expect_refused(R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content":
        [{"type": "image", "path": "a.png"}]}]})",
                   "messages[1].content[0].type");
    expect_refused(R"({})", "messages");
    expect_refused(R"({"messages": "hi"})", "messages");
    expect_refused(R"({"messages": [{"role": "user"}]})", "messages[0]");
    expect_refused(R"({"messages": [{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]})", "role");
}

class ChatOfATinyModel : public ::testing::Test {
   protected:
    ChatOfATinyModel() {
        model_ = testing::tiny_text_model(R"({"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2,
            "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64,
            "max_position_embeddings": 120, "bos_token_id": 1, "initializer_range": 0.3})",
                                          "byte-fallback-bpe-llama2");
        model_.settings = models::read_generation_settings({}, model_.config);
        const_cast<tokenizers::Tokenizer&>(*model_.tokenizer).chat_template =
            "<s>{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}[assistant]";
    }

    ChatRequest request(std::vector<ChatMessage> messages, std::int64_t most = 6) const {
        ChatRequest request{.messages = std::move(messages)};
        request.generation.settings = model_.settings;
        request.generation.settings->max_new_tokens = most;
        return request;
    }

    models::OpenedModel model_;
};

TEST_F(ChatOfATinyModel, AnswersTheMessagesInItsTemplateAndReadsOnlyWhatIsNew) {
    Chat chat(model_);
    std::vector<ChatMessage> messages{{"system", "Be brief."}, {"user", "one"}};
    for (int turn = 0; turn < 3; ++turn) {
        const ChatRequest asked = request(messages);
        std::string told;
        const ChatAnswer answer = chat.answer(asked, [&](const TextPiece& piece) { told += piece.text; });
        GenerationRequest whole = asked.generation;
        whole.prompts = {chat_prompt(model_, messages)};
        EXPECT_EQ(answer.answer.tokens, Generator(model_).generate(whole).texts[0].tokens);
        EXPECT_EQ(answer.answer.text, told);
        EXPECT_EQ(answer.turns_left_out, 0u);
        EXPECT_EQ(answer.timings.reused_tokens > 0, turn > 0);
        messages.push_back({"assistant", answer.answer.text});
        messages.push_back({"user", "more"});
    }
    testing::expect_error([&] { chat.answer({}); }, {"no message"});
}

// A template that prints a message's content as it is must not be given a list of parts.
TEST_F(ChatOfATinyModel, GivesPartsToTemplatesThatReadThem) {
    const std::vector<ChatMessage> messages{{.role = "user", .content = "what?", .images = {{.path = "/cat.png"}}}};
    EXPECT_EQ(chat_prompt(model_, messages).text, "<s>[user] what?\n[assistant]");
    const_cast<tokenizers::Tokenizer&>(*model_.tokenizer).chat_template =
        "{% for m in messages %}{% for part in m.content %}{% if part.type == 'image' %}<image>{% else %}{{ part.text "
        "}}"
        "{% endif %}{% endfor %}{% endfor %}";
    EXPECT_EQ(chat_prompt(model_, messages).text, "<image>what?");
}

TEST_F(ChatOfATinyModel, LeavesTheOldestTurnsOutAndKeepsTheSystemMessage) {
    Chat chat(model_);
    std::vector<ChatMessage> messages{{"system", "Short."}};
    for (int turn = 0; turn < 8; ++turn) {
        messages.push_back({"user", text_of("this is message ", turn)});
        messages.push_back({"assistant", "so it is"});
    }
    messages.push_back({"user", "and now?"});
    ChatRequest asked = request(messages, 4);
    std::size_t told = 0;
    bool is_answered = false;
    asked.on_left_out = [&](std::size_t turns) {
        EXPECT_FALSE(is_answered);
        told = turns;
    };
    const ChatAnswer answer = chat.answer(asked, [&](const TextPiece&) { is_answered = true; });
    EXPECT_GT(told, 0u);
    EXPECT_LT(told, 8u);
    EXPECT_EQ(answer.turns_left_out, told);
    EXPECT_LE(answer.timings.prompt_tokens, 120 - 4);
    std::vector<ChatMessage> shown{messages[0]};
    shown.insert(shown.end(), messages.begin() + 1 + 2 * static_cast<std::ptrdiff_t>(told), messages.end());
    GenerationRequest whole = asked.generation;
    whole.prompts = {chat_prompt(model_, shown)};
    EXPECT_EQ(answer.answer.tokens, Generator(model_).generate(whole).texts[0].tokens);
}

TEST_F(ChatOfATinyModel, RefusesAMessageLongerThanItsContext) {
    Chat chat(model_);
    ChatRequest asked = request({{"system", "Short."}, {"user", std::string(400, '?')}});
    asked.on_left_out = [](std::size_t) { ADD_FAILURE() << "there is nothing to leave out"; };
    EXPECT_THROW(chat.answer(asked), PromptTooLong);
    EXPECT_EQ(chat.answer(request({{"user", "hi"}})).answer.tokens.size(), 6u);  // and goes on
}

TEST_F(ChatOfATinyModel, CanBeCancelledWhileItReads) {
    Chat chat(model_);
    ChatRequest asked = request({{"user", "a message of several parts"}});
    asked.generation.prefill_chunk = 4;
    asked.generation.is_cancelled = [] { return true; };
    const GeneratedText none = chat.answer(asked).answer;
    EXPECT_EQ(none.ending, Ending::Cancelled);
    EXPECT_TRUE(none.tokens.empty());
}

}  // namespace
}  // namespace tessera::inference
