// str's methods that make another value.
#include <algorithm>
#include <map>
#include <optional>

#include "tokenizers/jinja/brace_format.h"
#include "tokenizers/jinja/code_points.h"
#include "tokenizers/jinja/compare.h"
#include "tokenizers/jinja/given.h"
#include "tokenizers/jinja/methods.h"
#include "tokenizers/jinja/number_format.h"
#include "tokenizers/jinja/runtime.h"

namespace tessera::tokenizers::jinja {
namespace {

Value changed_case(Runtime& runtime, const Value& self, const Arguments& arguments, std::string_view name,
                   std::string (*change)(std::string_view)) {
    const Given given(arguments, name, {});
    return runtime.text(change(self.text()));
}
Value method_upper(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return changed_case(runtime, self, arguments, "upper", upper);
}
Value method_lower(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return changed_case(runtime, self, arguments, "lower", lower);
}
Value method_title(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return changed_case(runtime, self, arguments, "title", title);
}
Value method_capitalize(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return changed_case(runtime, self, arguments, "capitalize", capitalize);
}
Value method_swapcase(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "swapcase", {});
    std::string result;
    const std::string& text = self.text();
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) {
        const std::string_view character = std::string_view(text).substr(at, width_at(text, at));
        result += is_upper(code_point_at(text, at)) ? lower(character) : upper(character);
    }
    return runtime.text(std::move(result));
}

Value stripped(Runtime& runtime, const Value& self, const Arguments& arguments, bool left, bool right) {
    const Given given(arguments, "strip", {"chars"});
    const std::string characters = given.is_given(0) ? given.text(0) : std::string();
    const std::string_view view = characters;
    const std::string_view* chosen = given.is_given(0) ? &view : nullptr;
    runtime.step(static_cast<std::int64_t>(characters.size() * self.text().size() / 64));
    std::string_view text = self.text();
    if (left) text = strip_left(text, chosen);
    if (right) text = strip_right(text, chosen);
    return runtime.text(std::string(text), self.is_safe());
}
Value method_strip(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return stripped(runtime, self, arguments, true, true);
}
Value method_lstrip(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return stripped(runtime, self, arguments, true, false);
}
Value method_rstrip(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return stripped(runtime, self, arguments, false, true);
}

Value list_of_texts(Runtime& runtime, const std::vector<std::string>& parts) {
    std::vector<Value> items;
    for (const std::string& part : parts) items.push_back(runtime.text(part));
    return runtime.list(std::move(items));
}

// At white space, runs of it as one.
std::vector<std::string> split_words(std::string_view text, std::int64_t most) {
    std::vector<std::string> words;
    for (text = strip_left(text); !text.empty(); text = strip_left(text)) {
        if (most >= 0 && static_cast<std::int64_t>(words.size()) == most) {
            words.emplace_back(text);
            break;
        }
        std::size_t end = 0;
        while (end < text.size() && !is_space(code_point_at(text, end))) end += width_at(text, end);
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return words;
}

std::vector<std::string> split_words_from_right(std::string_view text, std::int64_t most) {
    std::vector<std::string> words;
    for (text = strip_right(text); !text.empty(); text = strip_right(text)) {
        if (most >= 0 && static_cast<std::int64_t>(words.size()) == most) {
            words.emplace_back(text);
            break;
        }
        std::size_t begin = 0;
        for (std::size_t at = 0; at < text.size(); at += width_at(text, at))
            if (is_space(code_point_at(text, at))) begin = at + width_at(text, at);
        words.emplace_back(text.substr(begin));
        text = text.substr(0, begin);
    }
    std::reverse(words.begin(), words.end());
    return words;
}

Value method_split(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "split", {"sep", "maxsplit"});
    const std::int64_t most = given.whole(1, -1);
    const std::string& text = self.text();
    if (!given.is_given(0)) return list_of_texts(runtime, split_words(text, most));
    const std::string separator = given.text(0);
    check(!separator.empty(), "split(): empty separator");
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (std::size_t at = text.find(separator); at != std::string::npos; at = text.find(separator, begin)) {
        if (most >= 0 && static_cast<std::int64_t>(parts.size()) == most) break;
        parts.push_back(text.substr(begin, at - begin));
        begin = at + separator.size();
    }
    parts.push_back(text.substr(begin));
    return list_of_texts(runtime, parts);
}

Value method_rsplit(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "rsplit", {"sep", "maxsplit"});
    const std::int64_t most = given.whole(1, -1);
    std::string_view text = self.text();
    if (!given.is_given(0)) {
        if (most < 0) return list_of_texts(runtime, split_words(text, -1));
        runtime.step(static_cast<std::int64_t>(text.size()) * std::min<std::int64_t>(most + 1, 1 << 20) / 64);
        return list_of_texts(runtime, split_words_from_right(text, most));
    }
    const std::string separator = given.text(0);
    check(!separator.empty(), "rsplit(): empty separator");
    std::vector<std::string> parts;
    for (std::size_t at = text.rfind(separator); at != std::string_view::npos; at = text.rfind(separator)) {
        if (most >= 0 && static_cast<std::int64_t>(parts.size()) == most) break;
        parts.emplace_back(text.substr(at + separator.size()));
        text = text.substr(0, at);
    }
    parts.emplace_back(text);
    std::reverse(parts.begin(), parts.end());
    return list_of_texts(runtime, parts);
}

Value method_splitlines(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "splitlines", {"keepends"});
    return list_of_texts(runtime, lines_of(self.text(), given.truth(0, false)));
}

Value partitioned(Runtime& runtime, const Value& self, const Arguments& arguments, bool from_right) {
    const Given given(arguments, "partition", {"sep"}, 1);
    const std::string& text = self.text();
    const std::string separator = given.text(0);
    check(!separator.empty(), "partition(): empty separator");
    const std::size_t at = from_right ? text.rfind(separator) : text.find(separator);
    if (at == std::string::npos)
        return from_right ? runtime.tuple({Value(""), Value(""), self}) : runtime.tuple({self, Value(""), Value("")});
    return runtime.tuple(
        {runtime.text(text.substr(0, at)), runtime.text(separator), runtime.text(text.substr(at + separator.size()))});
}
Value method_partition(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return partitioned(runtime, self, arguments, false);
}
Value method_rpartition(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return partitioned(runtime, self, arguments, true);
}

Value method_replace(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "replace", {"old", "new", "count"}, 2);
    return runtime.text(replaced(runtime, self.text(), given.text(0), given.text(1), given.whole(2, -1)));
}

Value method_join(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "join", {"iterable"}, 1);
    std::vector<std::string> parts;
    for (const Value& part : items_of(runtime, *given.find(0))) {
        check(part.is_text(), "join(): item ", parts.size(), ": expected a text, found ", part.type_name());
        runtime.charge(static_cast<std::int64_t>(part.text().size()));
        parts.push_back(part.text());
    }
    return runtime.text(joined(runtime, self.text(), parts));
}

Value method_format(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return runtime.text(brace_format(runtime, self.text(), arguments));
}

Value method_removeprefix(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "removeprefix", {"prefix"}, 1);
    const std::string prefix = given.text(0);
    return self.text().starts_with(prefix) ? runtime.text(self.text().substr(prefix.size())) : self;
}
Value method_removesuffix(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "removesuffix", {"suffix"}, 1);
    const std::string suffix = given.text(0);
    return self.text().ends_with(suffix) ? runtime.text(self.text().substr(0, self.text().size() - suffix.size()))
                                         : self;
}

Value justified(Runtime& runtime, const Value& self, const Arguments& arguments, std::string_view name, char align) {
    const Given given(arguments, name, {"width", "fillchar"}, 1);
    const std::string fill = given.text(1, " ");
    check(length_of(fill) == 1, name, "(): the fill character must be exactly one character long");
    const std::int64_t width = given.whole(0, 0), missing = width - length_of(self.text());
    if (align != '^' || missing <= 0) return runtime.text(padded(self.text(), width, align, fill));
    // Python's str.center puts the odd one to the left when the width is odd.
    const std::int64_t left = missing / 2 + (missing & width & 1);
    const std::string half = padded(self.text(), length_of(self.text()) + left, '>', fill);
    return runtime.text(padded(half, width, '<', fill));
}
Value method_center(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return justified(runtime, self, arguments, "center", '^');
}
Value method_ljust(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return justified(runtime, self, arguments, "ljust", '<');
}
Value method_rjust(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return justified(runtime, self, arguments, "rjust", '>');
}
Value method_zfill(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "zfill", {"width"}, 1);
    const std::string& text = self.text();
    const std::size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+');
    const std::string digits = padded(text.substr(sign), given.whole(0, 0) - static_cast<std::int64_t>(sign), '>', "0");
    return runtime.text(text.substr(0, sign) + digits);
}

Value method_expandtabs(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "expandtabs", {"tabsize"});
    const std::int64_t size = given.whole(0, 8);
    check(size <= most_format_width, "expandtabs(): the size is past ", most_format_width);
    std::string result;
    std::int64_t column = 0;
    const std::string& text = self.text();
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) {
        if (text[at] == '\t') {
            const std::int64_t spaces = size > 0 ? size - column % size : 0;
            runtime.charge(spaces);
            result.append(static_cast<std::size_t>(spaces), ' ');
            column += spaces;
            continue;
        }
        result += text.substr(at, width_at(text, at));
        column = text[at] == '\n' || text[at] == '\r' ? 0 : column + 1;
    }
    return runtime.text(std::move(result));
}

}  // namespace

Method find_text_method(std::string_view name) {
    static const std::map<std::string_view, Method> methods = {
        {"upper", method_upper},         {"lower", method_lower},
        {"title", method_title},         {"capitalize", method_capitalize},
        {"swapcase", method_swapcase},   {"casefold", method_lower},
        {"strip", method_strip},         {"lstrip", method_lstrip},
        {"rstrip", method_rstrip},       {"split", method_split},
        {"rsplit", method_rsplit},       {"splitlines", method_splitlines},
        {"partition", method_partition}, {"rpartition", method_rpartition},
        {"replace", method_replace},     {"join", method_join},
        {"format", method_format},       {"removeprefix", method_removeprefix},
        {"center", method_center},       {"removesuffix", method_removesuffix},
        {"ljust", method_ljust},         {"rjust", method_rjust},
        {"zfill", method_zfill},         {"expandtabs", method_expandtabs},
    };
    const auto found = methods.find(name);
    return found == methods.end() ? nullptr : found->second;
}

}  // namespace tessera::tokenizers::jinja
