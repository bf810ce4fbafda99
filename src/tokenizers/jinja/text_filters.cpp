// Filters of texts: trim, replace, indent, …
#include <algorithm>
#include <map>

#include "tokenizers/jinja/code_points.h"
#include "tokenizers/jinja/compare.h"
#include "tokenizers/jinja/filters.h"
#include "tokenizers/jinja/given.h"
#include "tokenizers/jinja/methods.h"
#include "tokenizers/jinja/operators.h"
#include "tokenizers/jinja/print.h"
#include "tokenizers/jinja/printf_format.h"
#include "tokenizers/jinja/runtime.h"

namespace tessera::tokenizers::jinja {
namespace {

// Calls str's method of the given name on the value's text.
Value by_method(Runtime& runtime, const Value& input, const Arguments& arguments, std::string_view name) {
    const Value text = input.is_text() ? input : runtime.text(str(runtime, input));
    return find_text_method(name)(runtime, text, arguments);
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
    const Given given(arguments, "title", {});
    const std::string text = str(runtime, input);
    std::string result;
    bool begins = true;
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) {
        const char32_t point = code_point_at(text, at);
        const std::string_view character = std::string_view(text).substr(at, width_at(text, at));
        const bool splits =
            is_space(point) || point == '-' || point == '(' || point == '{' || point == '[' || point == '<';
        result += begins && !splits ? upper(character) : lower(character);
        begins = splits;
    }
    return runtime.text(std::move(result));
}

Value filter_string(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Given given(arguments, "string", {});
    return input.is_text() ? input : runtime.text(str(runtime, input));
}

Value filter_replace(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Given given(arguments, "replace", {"old", "new", "count"}, 2);
    const std::int64_t most = given.is_given(2) ? given.whole(2, -1) : -1;
    return runtime.text(
        replaced(runtime, str(runtime, input), str(runtime, *given.find(0)), str(runtime, *given.find(1)), most));
}

Value filter_center(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Given given(arguments, "center", {"width"});
    return by_method(runtime, input, {.positional = {Value(given.whole(0, 80))}}, "center");
}

Value filter_indent(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Given given(arguments, "indent", {"width", "first", "blank"});
    check(input.is_text(), "indent: expected a text, found ", input.type_name());
    std::string indention;
    if (given.find(0) && given.find(0)->is_text())
        indention = given.text(0);
    else
        indention = apply(runtime, Operator::Multiply, Value(" "), Value(given.whole(0, 4))).text();
    const bool first = given.truth(1, false), blank = given.truth(2, false);
    const std::vector<std::string> lines = lines_of(input.text() + "\n");
    std::string result = first ? indention : std::string();
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (i > 0) result += "\n";
        if (i > 0 && (blank || !lines[i].empty())) {
            runtime.charge(static_cast<std::int64_t>(indention.size()));
            result += indention;
        }
        result += lines[i];
    }
    return runtime.text(std::move(result), input.is_safe());
}

Value filter_truncate(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Given given(arguments, "truncate", {"length", "killwords", "end", "leeway"});
    const std::int64_t length = given.whole(0, 255), leeway = given.is_given(3) ? given.whole(3, 5) : 5;
    const std::string end = given.text(2, "...");
    check(length >= length_of(end) && leeway >= 0, "truncate: the length ", length, " is less than that of '", end,
          "'");
    if (size_of(input) - leeway <= length) return input;
    check(input.is_text(), "truncate: expected a text, found ", input.type_name());
    const auto offsets = offsets_of(input.text());
    std::string kept = input.text().substr(0, offsets[static_cast<std::size_t>(length - length_of(end))]);
    if (!given.truth(1, false)) kept = kept.substr(0, kept.rfind(' '));
    return runtime.text(kept + end);
}

Value filter_wordcount(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Given given(arguments, "wordcount", {});
    const std::string text = str(runtime, input);
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
    if (arguments.named.empty())
        return runtime.text(printf_format(runtime, str(runtime, input), tuple_of(arguments.positional)));
    Dictionary values;
    for (const auto& [name, value] : arguments.named) values.set(Value(name), value);
    return runtime.text(printf_format(runtime, str(runtime, input), Value(std::move(values))));
}

Value filter_safe(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Given given(arguments, "safe", {});
    return runtime.text(str(runtime, input), true);
}

Value filter_escape(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Given given(arguments, "escape", {});
    return input.is_safe() ? input : runtime.text(escape_html(str(runtime, input)), true);
}

Value filter_forceescape(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Given given(arguments, "forceescape", {});
    return runtime.text(escape_html(str(runtime, input)), true);
}

void append_percent_encoded(std::string& out, std::string_view text, bool for_query) {
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                           c == '.' || c == '-' || c == '~' || (c == '/' && !for_query);
        if (plain)
            out += c;
        else if (c == ' ' && for_query)
            out += '+';
        else
            for (const char part : {'%', "0123456789ABCDEF"[static_cast<unsigned char>(c) >> 4],
                                    "0123456789ABCDEF"[static_cast<unsigned char>(c) & 15]})
                out += part;
    }
}

Value filter_urlencode(Runtime& runtime, const Value& input, const Arguments& arguments) {
    const Given given(arguments, "urlencode", {});
    std::string out;
    if (!input.is_dictionary()) {
        check(!input.is_sequence(), "urlencode: expected a text or a dict, found ", input.type_name());
        append_percent_encoded(out, str(runtime, input), false);
        return runtime.text(std::move(out));
    }
    for (const auto& [key, value] : input.dictionary().entries()) {
        if (!out.empty()) out += '&';
        append_percent_encoded(out, str(runtime, key), true);
        out += '=';
        append_percent_encoded(out, str(runtime, value), true);
    }
    return runtime.text(std::move(out));
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

}  // namespace tessera::tokenizers::jinja
