// Filters of texts: trim, replace, indent, …
#include <algorithm>
#include <map>

#include "tessera/jinja/brief.h"
#include "tessera/jinja/code_points.h"
#include "tessera/jinja/compare.h"
#include "tessera/jinja/filters.h"
#include "tessera/jinja/given.h"
#include "tessera/jinja/methods.h"
#include "tessera/jinja/operators.h"
#include "tessera/jinja/print.h"
#include "tessera/jinja/printf_format.h"
#include "tessera/jinja/runtime.h"
#include "tessera/jinja/text_builder.h"

namespace tessera::jinja {
namespace {

// Calls str's method of the given name on the value's text.
Value by_method(Runtime& runtime, const Value& input, const Arguments& arguments, std::string_view name) {
    return find_text_method(name)(runtime, str(runtime, input), arguments);
}

Value filter_trim(Runtime& runtime, const Value& input, const Arguments& arguments) {
    return by_method(runtime, input, arguments, "strip");
}
Value filter_upper(Runtime& runtime, const Value& input, const Arguments& arguments) {
    return by_method(runtime, input, arguments, "upper");
}
Value filter_lower(Runtime& runtime, const Value& input, const Arguments& arguments) {
    return by_method(runtime, input, arguments, "lower");
}
Value filter_capitalize(Runtime& runtime, const Value& input, const Arguments& arguments) {
    return by_method(runtime, input, arguments, "capitalize");
}

// A word begins at the start and after white space, '-', '(', '{', '[' and '<'.
Value filter_title(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "title", {});
    const Value shown = str(runtime, input);
    const std::string_view text = shown.text();
    runtime.walk(text.size());
    TextBuilder result(runtime);
    bool begins = true;
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) {
        const char32_t point = code_point_at(text, at);
        const std::string_view character = text.substr(at, width_at(text, at));
        const bool splits =
            is_space(point) || point == '-' || point == '(' || point == '{' || point == '[' || point == '<';
        result.append(begins && !splits ? upper(character) : lower(character));
        begins = splits;
    }
    return result.value();
}

Value filter_string(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "string", {});
    return str(runtime, input);
}

Value filter_replace(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "replace", {"old", "new", "count"}, 2);
    const std::int64_t most = given.is_given(2) ? given.whole(2, -1) : -1;
    const Value text = str(runtime, input), old = str(runtime, *given.find(0)), by = str(runtime, *given.find(1));
    return replaced(runtime, text.text(), old.text(), by.text(), most);
}

Value filter_center(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "center", {"width"});
    return by_method(runtime, input, {.positional = {Value(given.whole(0, 80))}}, "center");
}

Value filter_indent(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "indent", {"width", "first", "blank"});
    check(input.is_text(), "indent: expected a text, found ", input.type_name());
    const Value spaces = given.find(0) && given.find(0)->is_text()
                             ? *given.find(0)
                             : apply(runtime, Operator::Multiply, Value(" "), Value(given.whole(0, 4)));
    const std::string_view indention = spaces.text();
    const bool first = given.truth(1, false), blank = given.truth(2, false);
    const Value ended = runtime.text(input.text() + "\n");
    const std::vector<std::string_view> lines = lines_of(runtime, ended.text());
    TextBuilder result(runtime);
    if (first) result.append(indention);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i > 0) result.append('\n');
        if (i > 0 && (blank || !lines[i].empty())) result.append(indention);
        result.append(lines[i]);
    }
    return result.value(input.is_safe());
}

Value filter_truncate(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "truncate", {"length", "killwords", "end", "leeway"});
    const std::int64_t length = given.whole(0, 255), leeway = given.is_given(3) ? given.whole(3, 5) : 5;
    const std::string_view end = given.text(2, "...");
    runtime.walk(end.size());
    check(length >= length_of(end) && leeway >= 0, "truncate: the length ", length, " is less than that of '",
          brief(end), "'");
    if (size_of(runtime, input) - leeway <= length) return input;
    check(input.is_text(), "truncate: expected a text, found ", input.type_name());
    runtime.walk(input.text().size());
    std::string_view kept = first_of(input.text(), length - length_of(end));
    if (!given.truth(1, false)) kept = kept.substr(0, kept.rfind(' '));
    TextBuilder result(runtime);
    result.append(kept);
    result.append(end);
    return result.value();
}

Value filter_wordcount(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "wordcount", {});
    const Value shown = str(runtime, input);
    const std::string_view text = shown.text();
    runtime.walk(text.size());
    std::int64_t words = 0;
    bool in_word = false;
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) {
        const char32_t point = code_point_at(text, at);
        const bool is_word = is_alphabetic(point) || is_numeric(point) || point == '_';
        words += is_word && !in_word;
        in_word = is_word;
    }
    return Value(words);
}

Value filter_format(Runtime& runtime, const Value& input, const Arguments& arguments) {
    check(arguments.named.empty() || arguments.positional.empty(),
          "format: can't handle positional and keyword arguments at the same time");
    const Value pattern = str(runtime, input);
    if (arguments.named.empty())
        return runtime.paid_text(printf_format(runtime, pattern.text(), runtime.tuple(arguments.positional)));
    Dictionary values;
    for (const auto& [name, value] : arguments.named) values.set(runtime, runtime.text(std::string_view(name)), value);
    return runtime.paid_text(printf_format(runtime, pattern.text(), runtime.dictionary(std::move(values))));
}

Value filter_safe(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "safe", {});
    return runtime.text(std::string_view(str(runtime, input).text()), true);
}

Value filter_escape(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "escape", {});
    return input.is_safe() ? input : runtime.paid_text(escape_html(runtime, str(runtime, input).text()), true);
}

Value filter_forceescape(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "forceescape", {});
    return runtime.paid_text(escape_html(runtime, str(runtime, input).text()), true);
}

void append_percent_encoded(TextBuilder& out, std::string_view text, bool for_query) {
    out.runtime().walk(text.size());
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                           c == '.' || c == '-' || c == '~' || (c == '/' && !for_query);
        if (plain)
            out.append(c);
        else if (c == ' ' && for_query)
            out.append('+');
        else
            for (const char part : {'%', "0123456789ABCDEF"[static_cast<unsigned char>(c) >> 4],
                                    "0123456789ABCDEF"[static_cast<unsigned char>(c) & 15]})
                out.append(part);
    }
}

Value filter_urlencode(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const BoundArguments given(arguments, "urlencode", {});
    TextBuilder out(runtime);
    if (!input.is_dictionary()) {
        check(!input.is_sequence(), "urlencode: expected a text or a dict, found ", input.type_name());
        append_percent_encoded(out, str(runtime, input).text(), false);
        return out.value();
    }
    bool first = true;
    for (const auto& [key, value] : input.dictionary().entries()) {
        if (!first) out.append('&');
        first = false;
        append_percent_encoded(out, str(runtime, key).text(), true);
        out.append('=');
        append_percent_encoded(out, str(runtime, value).text(), true);
    }
    return out.value();
}

}  // namespace

Filter find_text_filter(std::string_view name) {
    static const std::map<std::string_view, Filter> filters = {
        {"trim", filter_trim},
        {"upper", filter_upper},
        {"lower", filter_lower},
        {"title", filter_title},
        {"string", filter_string},
        {"capitalize", filter_capitalize},
        {"replace", filter_replace},
        {"center", filter_center},
        {"indent", filter_indent},
        {"truncate", filter_truncate},
        {"format", filter_format},
        {"wordcount", filter_wordcount},
        {"safe", filter_safe},
        {"escape", filter_escape},
        {"e", filter_escape},
        {"urlencode", filter_urlencode},
        {"forceescape", filter_forceescape},
    };
    const auto found = filters.find(name);
    return found == filters.end() ? nullptr : found->second;
}

}  // namespace tessera::jinja
