// str's methods that ask: isdigit, startswith, find, count, …
#include <algorithm>
#include <map>

#include "tessera/jinja/code_points.h"
#include "tessera/jinja/given.h"
#include "tessera/jinja/methods.h"
#include "tessera/jinja/runtime.h"
#include "tessera/jinja/text_search.h"

namespace tessera::jinja {
namespace {

// Every character passes, and there is one.
template <bool (*passes)(char32_t)>
Value all_pass(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "is…", {});
    const std::string& text = self.text();
    runtime.walk(text.size());
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at))
        if (!passes(code_point_at(text, at))) return Value(false);
    return Value(!text.empty());
}

bool is_alphanumeric(char32_t point) { return is_alphabetic(point) || is_numeric(point); }

Value isascii(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "isascii", {});
    runtime.walk(self.text().size());
    return Value(std::all_of(self.text().begin(), self.text().end(), [](char c) { return c >= 0; }));
}

Value isprintable(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "isprintable", {});
    const std::string& text = self.text();
    runtime.walk(text.size());
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at))
        if (!is_printable(code_point_at(text, at))) return Value(false);
    return Value(true);
}

// One cased character at least, and none of the other case.
template <bool (*wanted)(char32_t), bool (*other)(char32_t)>
Value cased(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "is…", {});
    const std::string& text = self.text();
    runtime.walk(text.size());
    bool found = false;
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) {
        const char32_t point = code_point_at(text, at);
        if (other(point)) return Value(false);
        found = found || wanted(point);
    }
    return Value(found);
}

Value istitle(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "istitle", {});
    const std::string& text = self.text();
    runtime.walk(text.size());
    bool found = false, in_word = false;
    for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) {
        const char32_t point = code_point_at(text, at);
        if (is_upper(point) ? in_word : is_lower(point) && !in_word) return Value(false);
        in_word = is_upper(point) || is_lower(point);
        found = found || in_word;
    }
    return Value(found);
}

// The part of the text that the arguments `start` and `end` choose, as bytes; nothing where start is past its end.
struct Part {
    bool exists = true;
    std::size_t begin = 0, end = 0;
};

Part part_of(Runtime& runtime, std::string_view text, const BoundArguments& given, std::size_t first) {
    if (!given.is_given(first) && !given.is_given(first + 1)) return {.begin = 0, .end = text.size()};
    runtime.walk(2 * text.size());
    const std::int64_t size = length_of(text);
    const auto place = [&](std::size_t i, std::int64_t fallback) {
        const std::int64_t at = given.is_given(i) ? given.whole(i, fallback) : fallback;
        return at < 0 ? std::max<std::int64_t>(at + size, 0) : at;
    };
    const std::int64_t begin = place(first, 0), end = std::min(place(first + 1, size), size);
    if (begin > end) return {.exists = false};
    return {.begin = first_of(text, begin).size(), .end = first_of(text, end).size()};
}

Value begins_or_ends(Runtime& runtime, const Value& self, const Arguments& arguments, std::string_view name,
                     bool begins) {
    const BoundArguments given(arguments, name, {"prefix", "start", "end"}, 1);
    const Part part = part_of(runtime, self.text(), given, 1);
    if (!part.exists) return Value(false);
    const std::string_view text = std::string_view(self.text()).substr(part.begin, part.end - part.begin);
    const auto matches = [&](const Value& affix) {
        check_defined(affix);
        check(affix.is_text(), name, "(): expected a text or a tuple of texts, found ", affix.type_name());
        runtime.scan(32 + std::min(affix.text().size(), text.size()));
        return begins ? text.starts_with(affix.text()) : text.ends_with(affix.text());
    };
    const Value& affix = *given.find(0);
    if (!affix.is_sequence(SequenceKind::Tuple)) return Value(matches(affix));
    const auto& all = affix.sequence().items;
    return Value(std::any_of(all.begin(), all.end(), matches));
}
Value startswith(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return begins_or_ends(runtime, self, arguments, "startswith", true);
}
Value endswith(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return begins_or_ends(runtime, self, arguments, "endswith", false);
}

std::int64_t found_at(Runtime& runtime, const Value& self, const Arguments& arguments, bool from_right) {
    const BoundArguments given(arguments, "find", {"sub", "start", "end"}, 1);
    const std::string_view wanted = given.text(0);
    const Part part = part_of(runtime, self.text(), given, 1);
    if (!part.exists) return -1;
    const std::string_view whole = self.text(), text = whole.substr(part.begin, part.end - part.begin);
    const std::size_t at =
        from_right ? SearchFromRight(runtime, text, wanted).before(text.size()) : search(runtime, text, wanted);
    if (at == std::string_view::npos) return -1;
    runtime.walk(part.begin + at);
    return length_of(whole.substr(0, part.begin + at));
}
Value find(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return Value(found_at(runtime, self, arguments, false));
}
Value rfind(Runtime& runtime, const Value& self, const Arguments& arguments) {
    return Value(found_at(runtime, self, arguments, true));
}
Value index(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const std::int64_t at = found_at(runtime, self, arguments, false);
    check(at >= 0, "index(): substring not found");
    return Value(at);
}
Value rindex(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const std::int64_t at = found_at(runtime, self, arguments, true);
    check(at >= 0, "rindex(): substring not found");
    return Value(at);
}

Value count(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "count", {"sub", "start", "end"}, 1);
    const std::string_view wanted = given.text(0);
    const Part part = part_of(runtime, self.text(), given, 1);
    if (!part.exists) return Value(std::int64_t{0});
    const std::string_view text = std::string_view(self.text()).substr(part.begin, part.end - part.begin);
    if (wanted.empty()) {
        runtime.walk(text.size());
        return Value(length_of(text) + 1);
    }
    std::int64_t found = 0;
    for (std::size_t at = 0; (at = search(runtime, text, wanted, at)) != std::string_view::npos; at += wanted.size())
        ++found;
    return Value(found);
}

}  // namespace

Method find_string_test(std::string_view name) {
    static const std::map<std::string_view, Method> methods = {
        {"isdigit", all_pass<is_digit>},
        {"isdecimal", all_pass<is_decimal>},
        {"isnumeric", all_pass<is_numeric>},
        {"isalpha", all_pass<is_alphabetic>},
        {"isalnum", all_pass<is_alphanumeric>},
        {"isspace", all_pass<is_space>},
        {"isupper", cased<is_upper, is_lower>},
        {"islower", cased<is_lower, is_upper>},
        {"istitle", istitle},
        {"isascii", isascii},
        {"isprintable", isprintable},
        {"startswith", startswith},
        {"endswith", endswith},
        {"find", find},
        {"rfind", rfind},
        {"index", index},
        {"rindex", rindex},
        {"count", count},
    };
    const auto found = methods.find(name);
    return found == methods.end() ? nullptr : found->second;
}

}  // namespace tessera::jinja
