// Makes a template out of any bytes, by the language's grammar, so that nearly every input runs: each byte chooses what
// comes next.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>

class TemplateGrammar {
   public:
    TemplateGrammar(const std::uint8_t* bytes, std::size_t size) : at_(bytes), end_(bytes + size) {}

    std::string run() {
        std::string source = "{% set ns = namespace(a='', b=[]) %}";
        while (at_ < end_ && source.size() < 20'000) source += statement(0);
        return source;
    }

   private:
    std::size_t byte() { return at_ < end_ ? *at_++ : 0; }
    template <std::size_t count>
    std::string one_of(const char* const (&texts)[count]) {
        return texts[byte() % count];
    }

    std::string name() {
        static constexpr const char* names[] = {"a",  "b",        "c",    "f",      "g",       "x",     "i",
                                                "ns", "messages", "loop", "caller", "varargs", "kwargs"};
        return one_of(names);
    }

    std::string body(int depth) {
        std::string text;
        for (std::size_t count = byte() % 4; count > 0; --count) text += statement(depth + 1);
        return text;
    }

    std::string tag(const std::string& text) { return "{% " + text + " %}"; }

    std::string statement(int depth) {
        if (depth > 5 || at_ >= end_) return "{{ " + expression(depth) + " }}";
        switch (byte() % 14) {
            case 0: return one_of({"text", "\n  ", "{# … #}", "{% raw %}{{ x }}{% endraw %}", "é"});
            case 1: return tag("if " + expression(depth)) + body(depth) + tag("else") + body(depth) + tag("endif");
            case 2:
            case 3: return loop(depth);
            case 4: return tag("set " + name() + " = " + expression(depth));
            case 5:
            case 6: return tag("set ns." + one_of({"a", "b", "c"}) + " = " + expression(depth));
            case 7: return tag("set " + one_of({"a", "b", "ns.a"})) + body(depth) + tag("endset");
            case 8: return macro(depth);
            case 9:
                return tag("call" + one_of({"", "(x)", "(a, b=1)"}) + " " + one_of({"f", "g", "ns.a"}) +
                           arguments(depth)) +
                       body(depth) + tag("endcall");
            case 10: return tag("filter " + filter(depth)) + body(depth) + tag("endfilter");
            case 11: return tag("with " + name() + " = " + expression(depth)) + body(depth) + tag("endwith");
            default: return "{{ " + expression(depth) + " }}";
        }
    }

    std::string loop(int depth) {
        std::string head = "for " + one_of({"x", "i", "a, b", "x"}) + " in " + expression(depth);
        if (byte() % 4 == 0) head += " if " + expression(depth);
        if (byte() % 4 == 0) head += " recursive";
        std::string text = tag(head) + body(depth);
        const std::size_t end = byte() % 8;
        if (end == 0) text += tag("if " + expression(depth)) + tag("break") + tag("endif");
        if (end == 1) text += tag("if " + expression(depth)) + tag("continue") + tag("endif");
        if (end == 2) text += tag("else") + body(depth);
        return text + tag("endfor");
    }

    std::string macro(int depth) {
        const std::string head = one_of({"f()", "g(x)", "f(a, b=1)", "g(a=[], b=ns)", "f(x, i=x)"});
        return tag("macro " + head) + body(depth) + tag("endmacro");
    }

    std::string arguments(int depth) {
        std::string text;
        for (std::size_t count = byte() % 4; count > 0; --count) text += expression(depth + 1) + ", ";
        switch (byte() % 12) {
            case 0: text += "*" + expression(depth + 1); break;
            case 1: text += "**" + expression(depth + 1); break;
            case 2:
                text += one_of({"a", "b", "x", "width", "attribute", "default", "indent", "separators", "sep"}) + "=" +
                        expression(depth + 1);
            default: break;
        }
        return "(" + text + ")";
    }

    std::string filter(int depth) {
        static constexpr const char* filters[] = {
            "tojson",   "length",  "count",      "default",    "d",          "first",     "last",           "list",
            "join",     "items",   "reverse",    "sum",        "batch",      "slice",     "attr",           "map",
            "select",   "reject",  "selectattr", "rejectattr", "sort",       "dictsort",  "unique",         "min",
            "max",      "groupby", "int",        "float",      "abs",        "round",     "filesizeformat", "trim",
            "upper",    "lower",   "title",      "string",     "capitalize", "replace",   "center",         "indent",
            "truncate", "format",  "wordcount",  "safe",       "escape",     "urlencode", "forceescape"};
        const std::string filter = one_of(filters);
        return byte() % 2 ? filter : filter + arguments(depth);
    }

    std::string method() {
        static constexpr const char* methods[] = {
            "upper",   "lower",        "title",   "capitalize",   "swapcase",    "casefold",   "strip",    "lstrip",
            "rstrip",  "split",        "rsplit",  "splitlines",   "partition",   "rpartition", "replace",  "join",
            "format",  "removeprefix", "center",  "removesuffix", "ljust",       "rjust",      "zfill",    "expandtabs",
            "isdigit", "isalpha",      "isupper", "istitle",      "isprintable", "startswith", "endswith", "find",
            "rfind",   "index",        "rindex",  "count",        "items",       "keys",       "values",   "get",
            "copy",    "cycle",        "changed", "previtem",     "nextitem",    "last",       "revindex", "a",
            "b"};
        return one_of(methods);
    }

    std::string literal() {
        static constexpr const char* literals[] = {"0",
                                                   "1",
                                                   "2",
                                                   "-1",
                                                   "3",
                                                   "1.5",
                                                   "-0.0",
                                                   "1e308",
                                                   "100000",
                                                   "9223372036854775807",
                                                   "(-9223372036854775807-1)",
                                                   "true",
                                                   "false",
                                                   "none",
                                                   "''",
                                                   "'a'",
                                                   "'ab'",
                                                   "'é'",
                                                   "'ß\\n'",
                                                   "'%s'",
                                                   "'%(a)s'",
                                                   "'%5.2f'",
                                                   "'{}'",
                                                   "'{0:>9}'",
                                                   "'{a[0]}'",
                                                   "' x '",
                                                   "',a,'",
                                                   "'upper'",
                                                   "'odd'",
                                                   "'a.b'",
                                                   "'0'",
                                                   "'<&>'",
                                                   "('ab'*1000)",
                                                   "('a'*100000)",
                                                   "('é\\n'*5000)",
                                                   "([1, 2]*500)",
                                                   "(['a', 'B']*20)",
                                                   "range(10)",
                                                   "range(1000)",
                                                   "[]",
                                                   "()",
                                                   "{}",
                                                   "{'a': 1}",
                                                   "{'b': [1], 2: 'x'}"};
        return one_of(literals);
    }

    std::string expression(int depth) {
        if (depth > 8 || at_ >= end_) return byte() % 2 ? literal() : name();
        const int inner = depth + 1;
        switch (byte() % 24) {
            case 0:
            case 1: return literal();
            case 2:
            case 3: return name();
            case 4: return one_of({"ns.a", "ns.b", "messages[0]", "loop.index", "messages[1].content"});
            case 5: return "[" + expression(inner) + ", " + expression(inner) + "]";
            case 6: return "(" + expression(inner) + ",)";
            case 7: return "{" + expression(inner) + ": " + expression(inner) + "}";
            case 8:
            case 9: return "(" + expression(inner) + ")." + method() + arguments(inner);
            case 10: return "(" + expression(inner) + ")." + method();
            case 11: return "(" + expression(inner) + ")[" + expression(inner) + "]";
            case 12:
                return "(" + expression(inner) + ")[" + expression(inner) + ":" + expression(inner) + ":" +
                       expression(inner) + "]";
            case 13:
            case 14:
            case 15: return "(" + expression(inner) + "|" + filter(inner) + ")";
            case 16: return "(" + expression(inner) + " is " + test(inner) + ")";
            case 17: return "(" + one_of({"not ", "-", "+"}) + expression(inner) + ")";
            case 18:
                return "(" + expression(inner) + one_of({" + ", " - ", " * ", " / ", " // ", " % ", " ** ", " ~ "}) +
                       expression(inner) + ")";
            case 19:
                return "(" + expression(inner) +
                       one_of({" == ", " != ", " < ", " <= ", " > ", " >= ", " in ", " not in ", " and ", " or "}) +
                       expression(inner) + ")";
            case 20: return "(" + expression(inner) + " if " + expression(inner) + " else " + expression(inner) + ")";
            case 21:
                return one_of({"range", "dict", "namespace", "joiner", "strftime_now", "f", "g", "caller", "loop"}) +
                       arguments(inner);
            case 22: return name() + arguments(inner);
            default: return one_of({"joiner", "namespace"}) + "(" + one_of({"ns.a", "a", "x", "**kwargs"}) + ")";
        }
    }

    std::string test(int depth) {
        static constexpr const char* tests[] = {"defined",  "undefined", "none",    "boolean", "integer",
                                                "float",    "number",    "string",  "mapping", "iterable",
                                                "sequence", "callable",  "escaped", "odd",     "even",
                                                "lower",    "upper",     "filter",  "test"};
        static constexpr const char* with_argument[] = {"divisibleby", "eq", "ne", "lt",    "le",
                                                        "gt",          "ge", "in", "sameas"};
        if (byte() % 2) return one_of(tests);
        return one_of(with_argument) + "(" + expression(depth) + ")";
    }

    const std::uint8_t* at_;
    const std::uint8_t* end_;
};
