// str's methods that make another value.
#include <algorithm>
#include <map>
#include <optional>

#include "tessera/jinja/brace_format.h"
#include "tessera/jinja/code_points.h"
#include "tessera/jinja/compare.h"
#include "tessera/jinja/given.h"
#include "tessera/jinja/methods.h"
#include "tessera/jinja/number_format.h"
#include "tessera/jinja/runtime.h"
#include "tessera/jinja/text_builder.h"
#include "tessera/jinja/text_search.h"

namespace tessera::jinja {
namespace {

// What changes its case may grow: a character of two bytes to one of three.
void pay_for_change(Runtime& runtime, std::string_view text) {
    runtime.walk(text.size());
    runtime.charge(static_cast<std::int64_t>(text.size() + text.size() / 2));
}

Value changed_case(Runtime& runtime, const Value& self, const Arguments& arguments, std::string_view name,
                   std::string (*change)(std::string_view)) {
    const BoundArguments given(arguments, name, {});
    pay_for_change(runtime, self.text());
    return runtime.paid_text(change(self.text()));
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
    const BoundArguments given(arguments, "swapcase", {});
    std::string result;
    const std::string& text = self.text();
    pay_for_change(runtime, text);
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) {
        const std::string_view character = std::string_view(text).substr(at, width_at(text, at));
        result += is_upper(code_point_at(text, at)) ? lower(character) : upper(character);
    }
    return runtime.paid_text(std::move(result));
}

Value stripped(Runtime& runtime, const Value& self, const Arguments& arguments, bool left, bool right) {
    const BoundArguments given(arguments, "strip", {"chars"});
    std::optional<CharacterSet> set;
    if (given.is_given(0)) {
        runtime.charge(4 * static_cast<std::int64_t>(given.text(0).size()));
        runtime.walk(given.text(0).size());
        set.emplace(given.text(0));
    }
    std::string_view text = self.text();
    if (left) text = strip_left(text, set ? &*set : nullptr);
    if (right) text = strip_right(text, set ? &*set : nullptr);
    runtime.walk(self.text().size() - text.size());
    return text.size() == self.text().size() ? self : runtime.text(text, self.is_safe());
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

using Parts = std::vector<std::string_view>;

void add_part(Runtime& runtime, Parts& parts, std::string_view part) {
    runtime.charge(sizeof part);
    parts.push_back(part);
}

Value list_of_texts(Runtime& runtime, const Parts& parts) {
    std::vector<Value> items;
    for (const std::string_view part : parts) items.push_back(runtime.text(part));
    return runtime.list(std::move(items));
}

// At white space, runs of it as one.
Parts split_words(Runtime& runtime, std::string_view text, std::int64_t most) {
    runtime.walk(text.size());
    Parts words;
    for (text = strip_left(text); !text.empty(); text = strip_left(text)) {
        if (most >= 0 && static_cast<std::int64_t>(words.size()) == most) {
            add_part(runtime, words, text);
            break;
        }
        std::size_t end = 0;
        while (end < text.size() && !is_space(code_point_at(text, end))) end += width_at(text, end);
        add_part(runtime, words, text.substr(0, end));
        text.remove_prefix(end);
    }
    return words;
}

Parts split_words_from_right(Runtime& runtime, std::string_view text, std::int64_t most) {
    runtime.walk(2 * text.size());
    Parts words;
    for (text = strip_right(text); !text.empty(); text = strip_right(text)) {
        if (most >= 0 && static_cast<std::int64_t>(words.size()) == most) {
            add_part(runtime, words, text);
            break;
        }
        std::size_t begin = text.size();
        while (begin > 0) {
            const std::size_t width = last_width(text.substr(0, begin));
            if (is_space(code_point_at(text, begin - width))) break;
            begin -= width;
        }
        add_part(runtime, words, text.substr(begin));
        text = text.substr(0, begin);
    }
    std::reverse(words.begin(), words.end());
    return words;
}

Value method_split(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "split", {"sep", "maxsplit"});
    const std::int64_t most = given.whole(1, -1);
    const std::string_view text = self.text();
    if (!given.is_given(0)) return list_of_texts(runtime, split_words(runtime, text, most));
    const std::string_view separator = given.text(0);
    check(!separator.empty(), "split(): empty separator");
    Parts parts;
    std::size_t begin = 0;
    while (most < 0 || static_cast<std::int64_t>(parts.size()) < most) {
        const std::size_t at = search(runtime, text, separator, begin);
        if (at == std::string_view::npos) break;
        add_part(runtime, parts, text.substr(begin, at - begin));
        begin = at + separator.size();
    }
    add_part(runtime, parts, text.substr(begin));
    return list_of_texts(runtime, parts);
}

Value method_rsplit(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "rsplit", {"sep", "maxsplit"});
    const std::int64_t most = given.whole(1, -1);
    std::string_view text = self.text();
    if (!given.is_given(0)) {
        if (most < 0) return list_of_texts(runtime, split_words(runtime, text, -1));
        return list_of_texts(runtime, split_words_from_right(runtime, text, most));
    }
    const std::string_view separator = given.text(0);
    check(!separator.empty(), "rsplit(): empty separator");
    Parts parts;
    SearchFromRight places(runtime, text, separator);
    while (most < 0 || static_cast<std::int64_t>(parts.size()) < most) {
        const std::size_t at = places.before(text.size());
        if (at == std::string_view::npos) break;
        add_part(runtime, parts, text.substr(at + separator.size()));
        text = text.substr(0, at);
    }
    add_part(runtime, parts, text);
    std::reverse(parts.begin(), parts.end());
    return list_of_texts(runtime, parts);
}

Value method_splitlines(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "splitlines", {"keepends"});
    return list_of_texts(runtime, lines_of(runtime, self.text(), given.truth(0, false)));
}

Value partitioned(Runtime& runtime, const Value& self, const Arguments& arguments, bool from_right) {
    const BoundArguments given(arguments, "partition", {"sep"}, 1);
    const std::string_view text = self.text();
    const std::string_view separator = given.text(0);
    check(!separator.empty(), "partition(): empty separator");
    const std::size_t at =
        from_right ? SearchFromRight(runtime, text, separator).before(text.size()) : search(runtime, text, separator);
    if (at == std::string_view::npos) {
        const Value none = runtime.text(std::string_view());
        return from_right ? runtime.tuple({none, none, self}) : runtime.tuple({self, none, none});
    }
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
    const BoundArguments given(arguments, "replace", {"old", "new", "count"}, 2);
    return replaced(runtime, self.text(), given.text(0), given.text(1), given.whole(2, -1));
}

Value method_join(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "join", {"iterable"}, 1);
    TextBuilder joined(runtime);
    std::size_t count = 0;
    for (const Value& part : items_of(runtime, *given.find(0))) {
        check(part.is_text(), "join(): item ", count, ": expected a text, found ", part.type_name());
        runtime.scan(64);
        if (count++ > 0) joined.append(self.text());
        joined.append(part.text());
    }
    return joined.value();
}

Value method_format(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return runtime.paid_text(brace_format(runtime, self.text(), arguments));
}

Value method_removeprefix(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "removeprefix", {"prefix"}, 1);
    const std::string_view text = self.text(), prefix = given.text(0);
    runtime.scan(prefix.size());
    return text.starts_with(prefix) ? runtime.text(text.substr(prefix.size())) : self;
}
Value method_removesuffix(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "removesuffix", {"suffix"}, 1);
    const std::string_view text = self.text(), suffix = given.text(0);
    runtime.scan(suffix.size());
    return text.ends_with(suffix) ? runtime.text(text.substr(0, text.size() - suffix.size())) : self;
}

Value justified(Runtime& runtime, const Value& self, const Arguments& arguments, std::string_view name, char align) {
    const BoundArguments given(arguments, name, {"width", "fillchar"}, 1);
    const std::string_view fill = given.text(1, " ");
    check(first_of(fill, 1).size() == fill.size() && !fill.empty(), name,
          "(): the fill character must be exactly one character long");
    const std::int64_t width = std::max<std::int64_t>(given.whole(0, 0), 0), length = size_of(runtime, self);
    const std::int64_t missing = width - length;
    TextBuilder result(runtime);
    if (align != '^' || missing <= 0) {
        append_padded(result, self.text(), width, align, fill);
        return result.value();
    }
    check_width(width);
    // Python's str.center puts the odd one to the left when the width is odd.
    const std::int64_t left = missing / 2 + (missing & width & 1);
    result.repeat(fill, static_cast<std::size_t>(left));
    result.append(self.text());
    result.repeat(fill, static_cast<std::size_t>(missing - left));
    return result.value();
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
    const BoundArguments given(arguments, "zfill", {"width"}, 1);
    const std::string_view text = self.text();
    const std::size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+');
    const std::int64_t width = std::max<std::int64_t>(given.whole(0, 0), 1) - static_cast<std::int64_t>(sign);
    TextBuilder result(runtime);
    result.append(text.substr(0, sign));
    append_padded(result, text.substr(sign), width, '>', "0");
    return result.value();
}

Value method_expandtabs(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "expandtabs", {"tabsize"});
    const std::int64_t size = given.whole(0, 8);
    check(size <= most_format_width, "expandtabs(): the size is past ", most_format_width);
    TextBuilder result(runtime);
    std::int64_t column = 0;
    const std::string_view text = self.text();
    runtime.walk(text.size());
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) {
        if (text[at] == '\t') {
            const std::int64_t spaces = size > 0 ? size - column % size : 0;
            result.repeat(" ", static_cast<std::size_t>(spaces));
            column += spaces;
            continue;
        }
        result.append(text.substr(at, width_at(text, at)));
        column = text[at] == '\n' || text[at] == '\r' ? 0 : column + 1;
    }
    return result.value();
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

}  // namespace tessera::jinja
