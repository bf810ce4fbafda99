// From a tokenizer and messages to text, for the shapes of templates that models are published with.
#include "tessera/tokenizers/chat.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"

namespace tessera::tokenizers {
namespace {

using formats::Json;

// Two special tokens and a template; nothing is encoded.
class Stub : public Tokenizer {
   public:
    explicit Stub(const std::string& source) {
        chat_template = source;
        special.bos = 0;
        special.eos = 1;
    }
    std::unique_ptr<TextStream> stream(bool) const override { return nullptr; }
    std::int64_t size() const override { return 2; }
    std::string token(std::int64_t id) const override { return id == 0 ? "<s>" : "</s>"; }
    std::optional<std::int64_t> id(std::string_view) const override { return {}; }
    bool is_special(std::int64_t) const override { return true; }

   protected:
    void append_ids(std::string_view, Ids&, Take) const override {}
    Ids surround(Ids first, const Ids*, bool) const override { return first; }
};

Json conversation(bool with_system = true) {
    Json messages = Json::array();
    if (with_system) messages.push_back(chat_message("system", "Be brief."));
    messages.push_back(chat_message("user", " Hi "));
    messages.push_back(chat_message("assistant", "Hello"));
    messages.push_back(chat_message("user", "Bye"));
    return messages;
}

TEST(Chat, InstructionTagsWithTheSystemTextInside) {
    const Stub tokenizer(
        "{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}"
        "{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}"
        "{% set system_message = false %}{% endif %}{% for message in loop_messages %}"
        "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}"
        "{% if loop.index0 == 0 and system_message != false %}"
        "{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}"
        "{% else %}{% set content = message['content'] %}{% endif %}"
        "{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}"
        "{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor "
        "%}");
    EXPECT_EQ(render_chat(tokenizer, conversation()),
              "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n Hi [/INST] Hello </s><s>[INST] Bye [/INST]");
    EXPECT_EQ(render_chat(tokenizer, conversation(false)), "<s>[INST] Hi [/INST] Hello </s><s>[INST] Bye [/INST]");
    Json twice = Json::array();
    twice.push_back(chat_message("user", "a")).push_back(chat_message("user", "b"));
    testing::expect_error([&] { render_chat(tokenizer, twice); }, {"chat_template: line 1: Conversation roles"});
}

TEST(Chat, RolesOnLinesOfTheirOwn) {
    const Stub tokenizer(
        "{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + "
        "eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n"
        "{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n"
        "{% endif %}\n{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}");
    EXPECT_EQ(
        render_chat(tokenizer, conversation()),
        "<|system|>\nBe brief.</s>\n<|user|>\n Hi </s>\n<|assistant|>\nHello</s>\n<|user|>\nBye</s>\n<|assistant|>\n");
}

TEST(Chat, ToolsAndReasoning) {
    const Stub tokenizer(
        "{%- if tools %}\n    {{- '# Tools\\n' }}\n    {%- for tool in tools %}\n        {{- \"\\n\" }}\n"
        "        {{- tool | tojson }}\n    {%- endfor %}\n    {{- '\\n' }}\n{%- endif %}\n"
        "{%- for message in messages %}\n    {%- if message.role == \"assistant\" %}\n"
        "        {%- set content = message.content %}\n        {%- if '</think>' in content %}\n"
        "            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}\n        {%- endif %}\n"
        "        {{- '<a>' + content }}\n    {%- else %}\n        {{- '<' + message.role[0] + '>' + message.content "
        "}}\n"
        "    {%- endif %}\n{%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<a>' }}\n"
        "    {%- if enable_thinking is defined and enable_thinking is false %}\n        {{- '<think></think>' }}\n"
        "    {%- endif %}\n{%- endif %}\n");
    Json messages = Json::array();
    messages.push_back(chat_message("user", "2+2?")).push_back(chat_message("assistant", "<think>\n4?\n</think>\n\n4"));
    messages.push_back(chat_message("user", "sure?"));
    ChatOptions options;
    options.tools = Json::parse(R"([{"name": "é<b>", "n": 1.0, "of": []}])", "tools");
    EXPECT_EQ(render_chat(tokenizer, messages, options),
              "# Tools\n\n{\"name\": \"é<b>\", \"n\": 1.0, \"of\": []}\n<u>2+2?<a>4<u>sure?<a>");
    options = {};
    options.more.set("enable_thinking", false);
    EXPECT_EQ(render_chat(tokenizer, messages, options), "<u>2+2?<a>4<u>sure?<a><think></think>");
    options.add_generation_prompt = false;
    EXPECT_EQ(render_chat(tokenizer, messages, options), "<u>2+2?<a>4<u>sure?");
}

TEST(Chat, PicturesArePartsOfTheContent) {
    const Stub tokenizer(
        "{{ bos_token }}{% for message in messages %}{{ message.role }}: {% if message.content is string %}"
        "{{ message.content }}{% else %}{% for part in message.content %}{% if part.type == 'image' %}<image>"
        "{% else %}{{ part.text | trim }}{% endif %}{% endfor %}{% endif %};{% endfor %}");
    Json messages = Json::array();
    messages.push_back(chat_message("user", " what? ", 2)).push_back(chat_message("assistant", "cats"));
    messages.push_back(chat_message("user", "", 1));
    EXPECT_EQ(render_chat(tokenizer, messages), "<s>user: <image><image>what?;assistant: cats;user: <image>;");
}

TEST(Chat, WithoutATemplateItSaysSo) {
    testing::expect_error([] { render_chat(Stub(""), Json::array()); }, {"no chat template"});
    testing::expect_error([] { render_chat(Stub("x"), Json::object()); }, {"messages must be a list"});
}

}  // namespace
}  // namespace tessera::tokenizers
