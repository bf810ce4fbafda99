#include "tokenizers/jinja/methods.h"

#include <algorithm>

#include "tokenizers/jinja/code_points.h"
#include "tokenizers/jinja/compare.h"
#include "tokenizers/jinja/given.h"
#include "tokenizers/jinja/runtime.h"

namespace tessera::tokenizers::jinja {
namespace {

Value pair_of(const std::pair<Value, Value>& entry) { return tuple_of({entry.first, entry.second}); }

Value dictionary_items(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "items", {});
    std::vector<Value> items;
    for (const auto& entry : self.dictionary().entries()) items.push_back(pair_of(entry));
    runtime.charge(static_cast<std::int64_t>(items.size()) * 128);
    return runtime.sequence(SequenceKind::Items, std::move(items));
}

Value dictionary_keys(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "keys", {});
    return runtime.sequence(SequenceKind::Keys, items_of(runtime, self));
}

Value dictionary_values(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "values", {});
    std::vector<Value> values;
    for (const auto& entry : self.dictionary().entries()) values.push_back(entry.second);
    return runtime.sequence(SequenceKind::Values, std::move(values));
}

Value dictionary_get(Runtime&, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "get", {"key", "default"}, 1);
    const Value* found = self.dictionary().find(*given.find(0));
    return found ? *found : given.value(1);
}

Value dictionary_copy(Runtime&, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "copy", {});
    return self;
}

Value sequence_index(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "index", {"value"}, 1);
    const auto& items = self.sequence().items;
    for (std::size_t i = 0; i < items.size(); ++i)
        if (equal(runtime, items[i], *given.find(0))) return Value(static_cast<std::int64_t>(i));
    fail("the value is not in the ", self.type_name());
}

Value sequence_count(Runtime& runtime, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "count", {"value"}, 1);
    std::int64_t count = 0;
    for (const Value& item : self.sequence().items) count += equal(runtime, item, *given.find(0));
    return Value(count);
}

Value sequence_copy(Runtime&, const Value& self, const Arguments& arguments) {
    const Given given(arguments, "copy", {});
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
        return method ? method : find_text_question(name);
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

std::int64_t size_of_indexed(const Value& value) { return size_of(value); }

std::vector<std::string> lines_of(std::string_view text, bool keep_ends) {
    std::vector<std::string> lines;
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
        lines.emplace_back(text.substr(begin, (keep_ends ? end : at) - begin));
        begin = at = end;
    }
    if (begin < text.size()) lines.emplace_back(text.substr(begin));
    return lines;
}

std::string replaced(Runtime& runtime, const std::string& text, const std::string& old, const std::string& by,
                     std::int64_t most) {
    std::vector<std::size_t> places;
    const auto full = [&] { return most >= 0 && static_cast<std::int64_t>(places.size()) >= most; };
    if (old.empty()) {
        for (std::size_t at = 0; at <= text.size() && !full(); at += at < text.size() ? width_at(text, at) : 1)
            places.push_back(at);
    } else {
        for (std::size_t at = text.find(old); at != std::string::npos && !full(); at = text.find(old, at + old.size()))
            places.push_back(at);
    }
    runtime.charge(static_cast<std::int64_t>(text.size() + places.size() * (by.size() + sizeof(std::size_t))));
    std::string result;
    std::size_t begin = 0;
    for (const std::size_t place : places) {
        result.append(text, begin, place - begin);
        result += by;
        begin = place + old.size();
    }
    return result.append(text, begin);
}

std::string joined(Runtime& runtime, const std::string& separator, const std::vector<std::string>& parts) {
    std::size_t size = parts.size() * separator.size();
    for (const std::string& part : parts) size += part.size();
    runtime.charge(static_cast<std::int64_t>(size));
    std::string result;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) result += separator;
        result += parts[i];
    }
    return result;
}

}  // namespace tessera::tokenizers::jinja
