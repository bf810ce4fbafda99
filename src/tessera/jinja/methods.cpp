#include "tessera/jinja/methods.h"

#include <algorithm>

#include "tessera/jinja/code_points.h"
#include "tessera/jinja/compare.h"
#include "tessera/jinja/given.h"
#include "tessera/jinja/runtime.h"
#include "tessera/jinja/text_builder.h"
#include "tessera/jinja/text_search.h"

namespace tessera::jinja {
namespace {

Value dictionary_items(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "items", {});
    std::vector<Value> items;
    for (const auto& [key, value] : self.dictionary().entries()) items.push_back(runtime.tuple({key, value}));
    return runtime.sequence(SequenceKind::Items, std::move(items));
}

Value dictionary_keys(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "keys", {});
    return runtime.sequence(SequenceKind::Keys, items_of(runtime, self));
}

Value dictionary_values(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "values", {});
    std::vector<Value> values;
    runtime.charge_items(self.dictionary().entries().size());
    for (const auto& entry : self.dictionary().entries()) values.push_back(entry.second);
    return runtime.sequence(SequenceKind::Values, std::move(values));
}

Value dictionary_get(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "get", {"key", "default"}, 1);
    const Value* found = self.dictionary().find(runtime, *given.find(0));
    return found ? *found : given.value(1);
}

Value dictionary_copy(Runtime&, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "copy", {});
    return self;
}

Value sequence_index(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "index", {"value"}, 1);
    const auto& items = self.sequence().items;
    for (std::size_t i = 0; i < items.size(); ++i)
        if (equal(runtime, items[i], *given.find(0))) return Value(static_cast<std::int64_t>(i));
    fail("the value is not in the ", self.type_name());
}

Value sequence_count(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "count", {"value"}, 1);
    std::int64_t count = 0;
    for (const Value& item : self.sequence().items) count += equal(runtime, item, *given.find(0));
    return Value(count);
}

Value sequence_copy(Runtime&, const Value& self, const Arguments& arguments) {
    const BoundArguments given(arguments, "copy", {});
    return self;
}

}  // namespace

Method find_dictionary_method(std::string_view name) {
    if (name == "items") return dictionary_items;
    if (name == "keys") return dictionary_keys;
    if (name == "values") return dictionary_values;
    if (name == "get") return dictionary_get;
    if (name == "copy") return dictionary_copy;
    return nullptr;
}

Method find_sequence_method(std::string_view name) {
    if (name == "index") return sequence_index;
    if (name == "count") return sequence_count;
    if (name == "copy") return sequence_copy;
    return nullptr;
}

Method find_method(const Value& self, std::string_view name) {
    if (self.is_text()) {
        const Method method = find_text_method(name);
        return method ? method : find_string_test(name);
    }
    if (self.is_dictionary()) return find_dictionary_method(name);
    if (self.is_sequence(SequenceKind::List)) return find_sequence_method(name);
    if (self.is_sequence(SequenceKind::Tuple) && name != "copy") return find_sequence_method(name);
    return nullptr;
}

bool is_changing_method(std::string_view name) {
    for (const std::string_view changing : {"clear", "pop", "popitem", "setdefault", "update", "fromkeys"})
        if (name == changing) return true;
    return false;
}

std::vector<std::string_view> lines_of(Runtime& runtime, std::string_view text, bool keep_ends) {
    runtime.walk(text.size());
    std::vector<std::string_view> lines;
    const auto add = [&](std::string_view line) {
        runtime.charge(sizeof line);
        lines.push_back(line);
    };
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
        const char32_t point = code_point_at(text, at);
        const std::size_t next = at + width_at(text, at);
        const bool ends = (point >= 10 && point <= 13) || (point >= 0x1C && point <= 0x1E) || point == 0x85 ||
                          point == 0x2028 || point == 0x2029;
        if (!ends) {
            at = next;
            continue;
        }
        const std::size_t end = point == '\r' && next < text.size() && text[next] == '\n' ? next + 1 : next;
        add(text.substr(begin, (keep_ends ? end : at) - begin));
        begin = at = end;
    }
    if (begin < text.size()) add(text.substr(begin));
    return lines;
}

Value replaced(Runtime& runtime, std::string_view text, std::string_view old, std::string_view by, std::int64_t most) {
    TextBuilder result(runtime);
    std::size_t begin = 0;
    const auto put = [&](std::size_t place) {
        result.append(text.substr(begin, place - begin));
        result.append(by);
        begin = place + old.size();
    };
    std::int64_t done = 0;
    if (old.empty()) {
        runtime.walk(text.size());
        for (std::size_t at = 0; at <= text.size() && done != most; ++done) {
            put(at);
            at += at < text.size() ? width_at(text, at) : 1;
        }
    } else {
        for (; done != most; ++done) {
            const std::size_t at = search(runtime, text, old, begin);
            if (at == std::string_view::npos) break;
            put(at);
        }
    }
    result.append(text.substr(begin));
    return result.value();
}

}  // namespace tessera::jinja
