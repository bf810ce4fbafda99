// Chat templates: real ones against the reference's texts, and the language against Jinja2's own answers.
#include "tessera/tokenizers/chat_template.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "tessera/formats/json.h"

namespace tessera::tokenizers {
namespace {

using formats::Json;
using testing::expect_error;

std::tm noon_of_july_26() {
    std::tm time{};
    time.tm_year = 124;
    time.tm_mon = 6;
    time.tm_mday = 26;
    time.tm_hour = 10;
    time.tm_wday = 5;
    time.tm_yday = 207;
    return time;
}

std::string render(const std::string& source, const Json& values = Json::object()) {
    return ChatTemplate(source, "t").render(values, {.now = noon_of_july_26()});
}

TEST(ChatTemplate, RendersTheGoldens) {
    const Json families = Json::read(testing::golden_path("chat_templates.json"));
    int cases = 0;
    for (const auto& [family, golden] : families.members()) {
        const ChatTemplate chat(golden.find("chat_template")->as_string(), family);
        for (const Json& expected : golden.find("cases")->items()) {
            Json values = Json::object();
            for (const char* name : {"messages", "add_generation_prompt"}) values.set(name, *expected.find(name));
            for (const char* name : {"bos_token", "eos_token"}) values.set(name, *golden.find(name));
            EXPECT_EQ(chat.render(values), expected.find("text")->as_string()) << family;
            // The reference hands in tools and documents as none.
            values.set("tools", Json()).set("documents", Json());
            EXPECT_EQ(chat.render(values), expected.find("text")->as_string()) << family;
            ++cases;
        }
    }
    EXPECT_GE(cases, 42);
}

// Jinja2 3.1.6's answers, in the environment that chat templates are rendered in.
TEST(ChatTemplate, SpeaksTheReferencesLanguage) {
    const Json groups = Json::read(testing::golden_path("chat_template_language.json"));
    int cases = 0;
    for (const Json& group : groups.items())
        for (const Json& expected : group.find("cases")->items()) {
            const std::string& source = expected.find("template")->as_string();
            const Json* text = expected.find("text");
            try {
                const std::string found = render(source, *group.find("values"));
                EXPECT_EQ(found, text ? text->as_string() : "a refusal") << source;
            } catch (const Error& error) {
                EXPECT_FALSE(text) << source << "\n" << error.what();
                EXPECT_EQ(std::string(error.what()).rfind("t: line ", 0), 0u) << error.what();
            }
            ++cases;
        }
    EXPECT_GE(cases, 800);
}

TEST(ChatTemplate, ErrorsNameTheLine) {
    expect_error([] { render("a\nb\n{{ x|nosuch }}"); }, {"t: line 3:", "unknown filter 'nosuch'"});
    expect_error([] { render("\n{{ x is nosuch }}"); }, {"t: line 2:", "unknown test 'nosuch'"});
    expect_error([] { render("\n\n{% include 'x' %}"); }, {"t: line 3:", "unknown tag 'include'"});
    expect_error([] { render("{% if true %}\n{{ none + 1 }}\n{% endif %}"); }, {"t: line 2:", "NoneType"});
    expect_error([] { render("{% for x in y %}\n"); }, {"t: line 1:", "endfor"});
    expect_error([] { render("\n{{ messages[0].role }}"); }, {"t: line 2:", "'messages' is undefined"});
    expect_error([] { render("\n\n{{ raise_exception('roles must alternate') }}"); }, {"line 3: roles must alternate"});
    expect_error([] { render("{{ 'a\n\n"); }, {"line 1:", "string has no end"});
    expect_error([] { ChatTemplate("x", "t").render(Json(1)); }, {"must be an object"});
}

TEST(ChatTemplate, TheClockIsTheCallers) {
    EXPECT_EQ(render("{{ strftime_now('%d %b %Y, %A') }}"), "26 Jul 2024, Friday");
    EXPECT_EQ(render("{{ strftime_now('') }}"), "");
    EXPECT_EQ(ChatTemplate("{{ strftime_now('%Y')|length }}", "t").render(Json::object()), "4");
    expect_error([] { render("{{ strftime_now('%99999d') }}"); }, {"too long"});
}

TEST(ChatTemplate, IsTheSameWheneverItIsRendered) {
    const ChatTemplate chat("{% set u = x|map('upper') %}{{ u|join }}{% set ns = namespace(n=0) %}{{ ns.n }}", "t");
    const Json values = Json::parse(R"({"x": ["a", "b"]})", "values");
    EXPECT_EQ(chat.render(values), "AB0");
    EXPECT_EQ(chat.render(values), "AB0");
}

}  // namespace
}  // namespace tessera::tokenizers
