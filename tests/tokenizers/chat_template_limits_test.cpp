// What a stranger's template may not do: crash, run for long, take much memory; however it is written. And what a long
// conversation must still do: come out.
#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/goldens.h"
#include "tessera/formats/json.h"
#include "tessera/jinja/text_search.h"
#include "tessera/tokenizers/chat_template.h"

namespace tessera::tokenizers {
namespace {

using formats::Json;
using testing::expect_error;

std::string render_plainly(const std::string& source) { return ChatTemplate(source, "t").render(Json::object()); }

std::string repeated(const std::string& part, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += part;
    return text;
}

std::string with_numbers(const std::string& before, const std::string& after, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += before + std::to_string(i) + after;
    return text;
}

TEST(ChatTemplateLimits, HostileTemplatesEndSoon) {
    const char* const hostile[] = {
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% macro f(x) %}{{ f([x]) }}{% endmacro %}{{ f(1) }}",
        "{{ 'a' * 10000000000 }}",
        "{{ [1] * 10000000000 }}",
        "{{ 'a' * 9223372036854775807 }}",
        "{% set ns = namespace(s='aaaaaaaaaaaaaaaa') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor "
        "%}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(99999) %}{% set ns.l = [ns.l] %}{% endfor %}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}",
        "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ "
        "ns.l|tojson }}",
        "{% set ns = namespace(l=(1,), m=(1,)) %}{% for i in range(99) %}{% set ns.l = (ns.l, ns.l) %}"
        "{% set ns.m = (ns.m, ns.m) %}{% endfor %}{{ ns.l == ns.m }}",
        "{% set ns = namespace(l=(1,)) %}{% for i in range(90) %}{% set ns.l = (ns.l, ns.l) %}{% endfor %}{{ {ns.l: 1} "
        "}}",
        "{% set ns = namespace() %}{% set ns.self = ns %}{{ ns }}",
        "{{ 'aaaa'.replace('a', 'b' * 100000000).replace('b', 'c' * 100000000) }}",
        "{{ ('a' * 100000)|list|join('b' * 100000) }}",
        "{{ 'x'.center(10000000000) }}",
        "{{ '%10000000000d' % 5 }}",
        "{{ '{:10000000000}'.format(5) }}",
        "{{ 'x'|indent(10000000000) }}",
        "{{ [[[]]]|tojson(indent=10000000000) }}",
        "{{ 2 ** 10000000000 }}",
        "{{ range(10000000000) }}",
        "{{ [1]|batch(10000000000, 'x')|list }}",
        "{{ [1]|slice(10000000000)|list }}",
        "{% for x in [[]] recursive %}{{ loop([x]) }}{% endfor %}",
    };
    // The same at a hundredth of the usual limits, so that the test is quick.
    const RenderOptions options{.limits = {.steps = 100'000, .bytes = 8 << 20}};
    for (const char* source : hostile)
        EXPECT_THROW(ChatTemplate(source, "t").render(Json::object(), options), Error) << source;
}

TEST(ChatTemplateLimits, DeepSourcesAreRefused) {
    for (const std::string& source :
         {"{{ " + repeated("(", 100000), "{{ " + repeated("not ", 100000) + "1 }}",
          "{{ " + repeated("-", 100000) + "1 }}", "{{ 1" + repeated("+1", 100000) + " }}",
          "{{ 1" + repeated("|abs", 100000) + " }}", "{{ a" + repeated(".b", 100000) + " }}",
          "{{ a" + repeated("[0]", 100000) + " }}", "{{ " + repeated("1 if 1 else ", 100000) + "1 }}",
          repeated("{% if 1 %}", 100000), "{% set " + repeated("(", 100000), repeated("{", 100000)})
        EXPECT_THROW(render_plainly(source), Error) << source.substr(0, 40);
    // A long chain of branches is not deep.
    EXPECT_EQ(render_plainly("{% if 0 %}" + repeated("{% elif 0 %}x", 2000) + "{% else %}y{% endif %}"), "y");
}

TEST(ChatTemplateLimits, NamespacesThatHoldThemselvesAreFreed) {
    EXPECT_EQ(
        render_plainly("{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = [b] %}{{ a.b|length }}"
                       "{% macro f() %}{{ a.b|length }}{% endmacro %}{% set a.f = f %}{{ a.f() }}"
                       "{% for x in [1] %}{% set a.loop = loop %}{{ loop.changed(a) }}{% endfor %}{{ a.loop.index }}"),
        "11True1");
}

// A hundred thousand values, each within the one before, through whatever can hold one.
TEST(ChatTemplateLimits, ValuesNestedToAnyDepthAreFreed) {
    const char* const holders[] = {
        "{% set ns.j = joiner(ns.j) %}",
        "{% set ns.j = [ns.j].index %}",
        "{% set ns.j = (ns.j,).count %}",
        "{% set ns.j = {'a': ns.j}.get %}",
        "{% set ns.j = namespace(a=ns.j) %}",
        "{% set ns.j = [namespace(a=ns.j)].copy %}",
        "{% for x in [ns.j] %}{% set ns.j = loop.cycle %}{% endfor %}",
        "{% for x in [ns.j, 1] %}{% set ns.j = loop %}{% endfor %}",
        "{% for x in [1] %}{{ '' if loop.changed(ns.j) }}{% set ns.j = loop %}{% endfor %}",
        "{% for x in [1] recursive %}{% set a = ns.j %}{% set ns.j = loop %}{% endfor %}",
        "{{ wrapped(ns.j) }}",
        "{% call called(ns.j) %}{{ ns.j }}{% endcall %}",
    };
    for (const char* holder : holders)
        EXPECT_EQ(render_plainly(text_of("{% set ns = namespace(j='') %}{% macro wrapped(held) %}{% macro inner() %}"
                                         "{{ held }}{% endmacro %}{% set ns.j = inner %}{% endmacro %}"
                                         "{% macro called(held) %}{% set ns.j = caller %}{% endmacro %}"
                                         "{% for i in range(99999) %}",
                                         holder, "{% endfor %}")),
                  "")
            << holder;
}

// A fifth of a megabyte, three thousand times: nothing passes that reads it without paying.
TEST(ChatTemplateLimits, WorkIsPaidByTheBytesItTouches) {
    const char* const operations[] = {"t == u",
                                      "t != u",
                                      "1.7e308|round(400)",
                                      "[5e-324]|map('round', 400)|list",
                                      "strftime_now('%s%s%s%s')",
                                      "t < u",
                                      "t >= u",
                                      "(t,) == (u,)",
                                      "[t] == [u]",
                                      "{'a': t} == {'a': u}",
                                      "[u, t].index(t)",
                                      "[u, t].count(t)",
                                      "t in [u]",
                                      "t in d",
                                      "d.get(t)",
                                      "d[t]",
                                      "{t: 1}",
                                      "dict([(t, 1)])",
                                      "n in t",
                                      "n not in t",
                                      "t.find(n)",
                                      "t.rfind(n)",
                                      "t.count(n)",
                                      "t.replace(n, 'x')",
                                      "t|replace(n, 'x')",
                                      "t.split(n)",
                                      "t.rsplit(n)",
                                      "t.partition(n)",
                                      "t.rpartition(n)",
                                      "t.find('b')",
                                      "t.count('')",
                                      "t.split()",
                                      "t.rsplit(none, 1)",
                                      "t.splitlines()",
                                      "t.strip('a')",
                                      "t.lstrip('a')",
                                      "t.rstrip('a')",
                                      "t.strip(t)",
                                      "t.startswith(t)",
                                      "t.endswith((u, t))",
                                      "t.removeprefix(t)",
                                      "t.removesuffix(t)",
                                      "t.upper()",
                                      "t.lower()",
                                      "t.title()",
                                      "t.capitalize()",
                                      "t.swapcase()",
                                      "t.casefold()",
                                      "t.center(5)",
                                      "t.ljust(5)",
                                      "t.rjust(5)",
                                      "t.zfill(5)",
                                      "t.expandtabs()",
                                      "t.isdigit()",
                                      "t.isalpha()",
                                      "t.isalnum()",
                                      "t.isspace()",
                                      "t.isupper()",
                                      "t.islower()",
                                      "t.istitle()",
                                      "t.isascii()",
                                      "t.isprintable()",
                                      "t.join(['x', 'y'])",
                                      "t[-1]",
                                      "t[190000]",
                                      "t[1:]",
                                      "t[:5]",
                                      "t[::2]",
                                      "t[::-1]",
                                      "t|length",
                                      "t|first",
                                      "t|last",
                                      "t|list",
                                      "t|reverse",
                                      "t|title",
                                      "t|wordcount",
                                      "t|int",
                                      "t|float",
                                      "t|truncate(5)",
                                      "t|indent",
                                      "t|escape",
                                      "t|forceescape",
                                      "t|urlencode",
                                      "t|tojson",
                                      "[t]|string",
                                      "t|safe",
                                      "t|upper",
                                      "t|center(5)",
                                      "t|sort",
                                      "t|unique|list",
                                      "t|join",
                                      "t|format",
                                      "t|batch(2)|list",
                                      "t|slice(2)|list",
                                      "t|map('upper')|list",
                                      "t is lower",
                                      "t is upper",
                                      "t is in([u])",
                                      "t is eq(u)",
                                      "[t, u]|min",
                                      "[t, u]|sort",
                                      "[t, u]|unique|list",
                                      "[{'a': t}, {'a': u}]|groupby('a')",
                                      "[t, u]|join",
                                      "t ~ t",
                                      "t + t",
                                      "t * 2",
                                      "t % ()",
                                      "'%s' % t",
                                      "'%r' % t",
                                      "'%(a)s' % {'a': t}",
                                      "t.format()",
                                      "'{}'.format(t)",
                                      "'{:5}'.format(t)",
                                      "'{!r}'.format(t)",
                                      "1|tojson(indent=t)",
                                      "1|tojson(separators=[t, t])",
                                      "range(99999)|list",
                                      "[1] * 99999",
                                      "l + l",
                                      "l == k",
                                      "l < k",
                                      "-1 in l",
                                      "l.index(19999)",
                                      "l.count(5)",
                                      "l[1:]",
                                      "l[::-1]",
                                      "l|first",
                                      "l|last",
                                      "l|reverse",
                                      "l|list",
                                      "l|sum",
                                      "l|sort",
                                      "l|min",
                                      "l|unique|list",
                                      "l|join",
                                      "l|string",
                                      "l|tojson",
                                      "l|map('string')|list",
                                      "l|select('odd')|list",
                                      "l|batch(9)|list",
                                      "l|slice(9)|list",
                                      "dict(e)",
                                      "dict(**e)",
                                      "e.items()",
                                      "e.keys()",
                                      "e.values()",
                                      "e == dict(e)",
                                      "e|dictsort",
                                      "e|list",
                                      "e|items",
                                      "e|urlencode",
                                      "e|tojson",
                                      "e|string",
                                      "namespace(e)",
                                      "namespace(**e)",
                                      "f(**e)",
                                      "f(*l)",
                                      "joiner(*[t])() ~ t",
                                      "strftime_now('%c' * 400) * 9"};
    // The usual steps are a hundred times these.
    const RenderOptions options{.limits = {.steps = 100'000, .bytes = 32 << 20}};
    const std::string before =
        "{% set t = 'a' * 200000 %}{% set u = 'a' * 199999 + 'b' %}{% set n = 'a' * 100000 + 'b' %}{% set d = {'a': "
        "1} "
        "%}{% set l = range(20000)|list %}{% set k = l + [] %}{% set e = dict(" +
        with_numbers("a", "=1,", 2000) + ") %}{% macro f() %}{{ varargs|length + kwargs|length }}{% endmacro %}";
    EXPECT_EQ(ChatTemplate(before, "t").render(Json::object(), options), "");
    for (const std::string operation : operations)
        expect_error(
            [&] {
                ChatTemplate(before + "{% for i in range(3000) %}{% set _ = " + operation + " %}{% endfor %}",
                             operation)
                    .render(Json::object(), options);
            },
            {operation + ": line 1: the template ", "more than "});
}

TEST(ChatTemplateLimits, MemoryIsPaidBeforeItIsTaken) {
    const char* const hostile[] = {
        "{% set d = dict(NAMES) %}{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l, "
        "namespace(d)] %}{% endfor %}",
        "{{ range(99999)|list|tojson(separators=['a' * 100000, 'b']) }}",
        "{{ range(99999)|list|tojson(indent='a' * 100000) }}",
        "{{ ('%(a)s' * 400) % {'a': 'x' * 100000} }}",
        "{{ ('%s' * 400) % (('x' * 100000,) * 400) }}",
        "{{ ('{0}' * 400).format('x' * 100000) }}",
        "{{ ('%9999d' * 5000) % ((1,) * 5000) }}",
        "{{ ('\n' * 5000000).splitlines()|length }}",
        "{{ ('a,' * 3000000).split(',')|length }}",
        "{{ (' a' * 3000000).split()|length }}",
        "{{ ('a' * 3000000)|list|length }}",
        "{{ ('a' * 3000000).replace('', 'xxxx')|length }}",
        "{{ ('<' * 7000000)|escape|length }}",
        "{{ ('<' * 7000000)|urlencode|length }}",
        "{{ ('\x01' * 7000000)|tojson|length }}",
        "{{ ['\x01' * 7000000]|string|length }}",
        "{{ ('a\n' * 3000000)|indent(99) }}",
        "{{ ('\t' * 3000000).expandtabs(9999)|length }}",
        "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l, [i], {'a': i}].copy %}{% endfor "
        "%}",
        "{% set ns = namespace(l=0) %}{% for i in range(99999) %}{% macro f() %}{% endmacro %}{% endfor %}",
        "{% set k = 'a' * 1000 %}{{ [{}[k], {}[k]] * 999999 }}",
    };
    const RenderOptions options{.limits = {.bytes = 16 << 20}};
    for (std::string source : hostile) {
        if (const std::size_t at = source.find("NAMES"); at != std::string::npos)
            source.replace(at, 5, with_numbers("a", "=1,", 1000));
        expect_error([&] { ChatTemplate(source, "t").render(Json::object(), options); },
                     {": the template makes values of more than 16777216 bytes"});
    }
}

TEST(ChatTemplateLimits, ManyNamesAreFound) {
    EXPECT_EQ(render_plainly(with_numbers("{% set a", " = 1 %}", 200000) + "{{ a7 + a199999 }}"), "2");
    EXPECT_EQ(render_plainly("{{ dict(" + with_numbers("a", "=1,", 100000) + ")|length }}"), "100000");
    // Every one of many names sought among as many is too much.
    expect_error(
        [] {
            render_plainly("{% macro f(" + with_numbers("a", ",", 50000) + "b) %}{% endmacro %}{{ f(" +
                           with_numbers("a", "=1,", 50000) + ") }}");
        },
        {"more than 10000000 steps"});
}

TEST(ChatTemplateLimits, NumbersAtTheirEnds) {
    const std::string lowest = "(-9223372036854775807-1)", highest = "9223372036854775807";
    const std::pair<const char*, const char*> answers[] = {
        {"'ab'.ljust(LOW) ~ 'ab'.rjust(LOW) ~ 'ab'.center(LOW) ~ '+b'.zfill(LOW) ~ 'a\tb'.expandtabs(LOW)",
         "ababab+bab"},
        {"'abc'[LOW:HIGH:HIGH] ~ 'abc'[HIGH:LOW:LOW] ~ 'abc'[::-1]", "accba"},
        {"[1, 2, 3][HIGH:LOW:LOW] ~ [1, 2, 3][LOW:HIGH]", "[3][1, 2, 3]"},
        {"[1, 2][LOW] is defined or [1, 2][HIGH] is defined or 'ab'[LOW] is defined or 'ab'[HIGH] is defined", "False"},
        {"'abc'.find('b', LOW, HIGH) ~ 'abc'.count('', HIGH) ~ 'abc'.startswith('a', LOW)", "10True"},
        {"'aa'.replace('a', 'b', LOW) ~ 'aa'.replace('a', 'b', HIGH)", "bbbb"},
        {"'a b'.split(' ', HIGH) ~ 'a b'.rsplit(none, LOW)", "['a', 'b']['a', 'b']"},
        {"range(9223372036854775806, HIGH, HIGH)|list ~ range(LOW, HIGH, HIGH)|list",
         "[9223372036854775806][-9223372036854775808, -1, 9223372036854775806]"},
        {"'abc'|truncate(HIGH) ~ 'abc'|center(LOW) ~ 'a\nb'|indent(LOW)", "abcabca\nb"},
        {"[1]|batch(LOW, 'x')|list", "[[1]]"},
        {"LOW % -1 ~ ' ' ~ 1.5|round(LOW) ~ ' ' ~ 1.5|round(HIGH)", "0 0.0 1.5"},
        {"'9223372036854775807'|int ~ ('-9223372036854775807'|int)", "9223372036854775807-9223372036854775807"},
    };
    const auto filled = [&](std::string text) {
        for (const auto& [name, number] : {std::pair{std::string("LOW"), lowest}, {"HIGH", highest}})
            for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;)
                text.replace(at, name.size(), number);
        return text;
    };
    for (const auto& [expression, answer] : answers)
        EXPECT_EQ(render_plainly(filled(text_of("{{ ", expression, " }}"))), answer) << expression;
    for (const char* refused : {"LOW // -1",
                                "-(LOW)",
                                "LOW|abs",
                                "HIGH + 1",
                                "HIGH * 2",
                                "LOW - 1",
                                "HIGH ** 2",
                                "HIGH|round(-1)",
                                "1e300|int",
                                "-1e300|filesizeformat",
                                "'%d' % 1e300",
                                "'%*d' % (LOW, 1)",
                                "'{:99999999999999999999}'.format(1)",
                                "'x'.center(HIGH)",
                                "'x' * HIGH",
                                "[1] * HIGH",
                                "range(HIGH)",
                                "[1]|batch(HIGH, 1)",
                                "[1]|slice(HIGH)",
                                "'x'|indent(HIGH)"})
        EXPECT_THROW(render_plainly(filled(text_of("{{ ", refused, " }}"))), Error) << refused;
    // Far from any whole number, and still a text.
    EXPECT_NO_THROW(render_plainly("{{ 'nan'|filesizeformat }}{{ 'inf'|filesizeformat }}{{ 1e300|filesizeformat }}"));
}

TEST(ChatTemplateLimits, ErrorsAreShort) {
    for (const char* source : {"{{ raise_exception('a' * 50000000) }}", "{{ 'a'|map('é' * 1000000)|list }}",
                               "{{ {}['a' * 1000000] + 1 }}", "{{ range(**{'a' * 1000000: 1}) }}"})
        try {
            render_plainly(source);
            ADD_FAILURE() << source;
        } catch (const Error& error) {
            EXPECT_LT(std::string_view(error.what()).size(), 2100u);
        }
}

// A quarter of a megabyte of anything is read in one pass.
TEST(ChatTemplateLimits, LongSourcesAreReadSoon) {
    const auto much_of = [](const std::string& part) {
        return repeated(part, (1 << 18) / static_cast<int>(part.size()));
    };
    for (const char* part : {"{{1}}", "{{a}}", "{%if 1%}{%endif%}", "{%set a=1%}", "{##}", "{%raw%}{%endraw%}", "{ ",
                             "\r", "{%macro f()%}{%endmacro%}"})
        EXPECT_NO_THROW(ChatTemplate(much_of(part), "t")) << part;
    for (const char* part :
         {"1,", "a,", "'',", "(),", "[1],", "{1:1},", "a.b,", "a(b=1),", "a|e,", "1 in ", "1<", "1~", "a if b,", " "})
        EXPECT_NO_THROW(ChatTemplate("{{ [" + much_of(part) + "1] }}", "t")) << part;
    for (const char* part : {"{{", "{%", "{%if 1%}", "{{ (", "{% raw %}", "{{ 99"})
        EXPECT_THROW(ChatTemplate(much_of(part), "t"), Error) << part;
    expect_error([] { ChatTemplate(std::string((4 << 20) + 1, 'x'), "t"); }, {"more than 4194304"});
}

TEST(ChatTemplateLimits, LongConversationsComeOut) {
    const Json families = Json::read(testing::golden_path("chat_templates.json"));
    Json messages = Json::array();
    std::size_t size = 0;
    for (int i = 0; i < 2000; ++i) {
        const std::string content = repeated("Grüße & <b>words</b>\n", 100);
        size += content.size();
        messages.push_back(Json::object().set("role", i % 2 ? "assistant" : "user").set("content", content));
    }
    EXPECT_GT(size, 4'000'000u);
    for (const auto& [family, golden] : families.members()) {
        const ChatTemplate chat(golden.find("chat_template")->as_string(), family);
        Json values = Json::object();
        values.set("messages", messages).set("add_generation_prompt", false);
        for (const char* name : {"bos_token", "eos_token"}) values.set(name, *golden.find(name));
        EXPECT_GT(chat.render(values).size(), size / 2) << family;
    }
    // One long message, looked through as templates do.
    Json values = Json::object();
    values.set("text", repeated("Grüße & <b>words</b>\n", 200'000)).set("tools", messages);
    EXPECT_EQ(ChatTemplate("{{ (text.strip() + '</think>x').split('</think>')[-1] }}{{ '<tool>' in text }}"
                           "{{ (text|trim|tojson)|length > 4000000 }}{{ (tools|tojson(indent=2))|length > 4000000 }}"
                           "{{ text.replace('words', 'Wörter')|upper|length == text|length + 400000 }}",
                           "t")
                  .render(values),
              "xFalseTrueTrueTrue");
}

// The places that std::string finds, also where a window ends.
TEST(ChatTemplateLimits, SearchFindsWhatIsThere) {
    jinja::Runtime runtime({}, {});
    for (const std::size_t place : {0u, 1u, (1u << 20) - 3, (1u << 20) - 1, 1u << 20, (2u << 20) - 5})
        for (const std::string wanted : {"b", "bc", "bcdefg"}) {
            std::string text(3 << 20, 'a');
            text.replace(place, wanted.size(), wanted);
            EXPECT_EQ(jinja::search(runtime, text, wanted), place);
            EXPECT_EQ(jinja::SearchFromRight(runtime, text, wanted).before(text.size()), place);
            EXPECT_EQ(jinja::search(runtime, text, wanted, place + 1), std::string::npos);
        }
    const std::string text = "abaababaab";
    for (const std::string wanted : {"", "a", "ab", "aba", "baab", "abaababaab", "abaababaabx", "c"}) {
        jinja::SearchFromRight from_right(runtime, text, wanted);
        for (std::size_t i = 0; i <= text.size(); ++i) {
            EXPECT_EQ(jinja::search(runtime, text, wanted, i), text.find(wanted, i)) << wanted << " " << i;
            EXPECT_EQ(from_right.before(i), text.substr(0, i).rfind(wanted)) << wanted << " " << i;
        }
    }
}

}  // namespace
}  // namespace tessera::tokenizers
