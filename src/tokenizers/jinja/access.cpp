#include "tokenizers/jinja/access.h"

#include <algorithm>
#include <charconv>

#include "tokenizers/jinja/code_points.h"
#include "tokenizers/jinja/loop.h"
#include "tokenizers/jinja/methods.h"
#include "tokenizers/jinja/print.h"
#include "tokenizers/jinja/runtime.h"

namespace tessera::tokenizers::jinja {
namespace {

Value bound(Runtime& runtime, const Value& self, Method method, std::string_view name) {
    return runtime.function(std::string(name), [self, method](Runtime& inner, const Arguments& arguments) {
        return method(inner, self, arguments);
    });
}

std::string owner(const Value& value) { return text_of("'", value.type_name(), " object'"); }

Value missing_attribute(const Value& value, std::string_view name) {
    return Value::undefined(text_of(owner(value), " has no attribute '", name, "'"));
}

// Null where Python would raise.
std::optional<Value> element(Runtime& runtime, const Value& value, std::int64_t index) {
    const std::int64_t size = size_of_indexed(value);
    if (index < 0) index += size;
    if (index < 0 || index >= size) return {};
    if (value.is_sequence()) return value.sequence().items[static_cast<std::size_t>(index)];
    const std::string& text = value.text();
    if (static_cast<std::size_t>(size) == text.size())
        return runtime.text(std::string(1, text[static_cast<std::size_t>(index)]));
    std::size_t at = 0;
    for (std::int64_t i = 0; i < index; ++i) at += width_at(text, at);
    runtime.step(index / 64);
    return runtime.text(text.substr(at, width_at(text, at)));
}

bool is_indexed(const Value& value) {
    return value.is_text() || value.is_sequence(SequenceKind::List) || value.is_sequence(SequenceKind::Tuple) ||
           value.is_sequence(SequenceKind::Range);
}

std::optional<std::int64_t> bound_of(const Value& value) {
    if (value.is_none()) return {};
    check(value.is_whole(), "slice indices must be integers or None, found ", value.type_name());
    return value.whole();
}

// The indices that [start:stop:step] picks, by Python's rules.
std::vector<std::size_t> picked(Runtime& runtime, std::int64_t size, std::optional<std::int64_t> start,
                                std::optional<std::int64_t> stop, std::int64_t step) {
    check(step != 0, "slice step cannot be zero");
    const std::int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? size - 1 : size;
    const auto place = [&](std::optional<std::int64_t> bound, std::int64_t fallback) {
        if (!bound) return fallback;
        return *bound < 0 ? std::max(*bound + size, lowest) : std::min(*bound, highest);
    };
    const std::int64_t first = place(start, step < 0 ? highest : lowest),
                       last = place(stop, step < 0 ? lowest : highest);
    const std::int64_t distance = step < 0 ? first - last : last - first;
    if (distance <= 0) return {};
    const std::uint64_t stride = step < 0 ? 0 - static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
    const std::size_t count = (static_cast<std::uint64_t>(distance) - 1) / stride + 1;
    runtime.charge(static_cast<std::int64_t>(count * sizeof(std::size_t)));
    std::vector<std::size_t> indices;
    indices.reserve(count);
    for (std::size_t i = 0; i < count; ++i)
        indices.push_back(static_cast<std::size_t>(step < 0 ? first - static_cast<std::int64_t>(i * stride)
                                                            : first + static_cast<std::int64_t>(i * stride)));
    return indices;
}

Value text_slice(Runtime& runtime, const Value& value, std::optional<std::int64_t> start,
                 std::optional<std::int64_t> stop, std::int64_t step) {
    const std::string& text = value.text();
    runtime.charge(static_cast<std::int64_t>(text.size() * sizeof(std::size_t)));
    const std::vector<std::size_t> offsets = offsets_of(text);
    const auto indices = picked(runtime, static_cast<std::int64_t>(offsets.size()) - 1, start, stop, step);
    if (indices.empty()) return runtime.text({}, value.is_safe());
    if (step == 1)
        return runtime.text(
            text.substr(offsets[indices.front()], offsets[indices.back() + 1] - offsets[indices.front()]),
            value.is_safe());
    std::string result;
    for (const std::size_t i : indices) result += text.substr(offsets[i], offsets[i + 1] - offsets[i]);
    return runtime.text(std::move(result), value.is_safe());
}

}  // namespace

Value attribute(Runtime& runtime, const Value& value, std::string_view name) {
    runtime.step();
    check_defined(value);
    if (value.is_namespace()) {
        const Value* found = value.space().members.find(name);
        return found ? *found : missing_attribute(value, name);
    }
    if (value.is_loop()) return loop_attribute(runtime, value.loop(), name);
    if (const Method method = find_method(value, name)) return bound(runtime, value, method, name);
    if (value.is_dictionary() && !is_changing_method(name))
        if (const Value* found = value.dictionary().find(name)) return *found;
    if (value.is_callable() && name == "name") return Value(value.callable()->name);
    if (value.is_dictionary() && is_changing_method(name))
        return Value::undefined(text_of("access to attribute '", name, "' of 'dict' object is unsafe"));
    return missing_attribute(value, name);
}

Value item(Runtime& runtime, const Value& value, const Value& key) {
    runtime.step();
    check_defined(value);
    if (is_indexed(value) && key.is_whole()) {
        if (std::optional<Value> found = element(runtime, value, key.whole())) return *found;
        return Value::undefined(text_of(owner(value), " has no element ", key.whole()));
    }
    if (value.is_dictionary()) {
        const bool can_be_key = !key.is_undefined() && !key.is_dictionary() &&
                                (!key.is_sequence() || key.is_sequence(SequenceKind::Tuple)) && !key.is_namespace() &&
                                !key.is_loop() && !key.is_callable();
        if (can_be_key)
            if (const Value* found = value.dictionary().find(key)) return *found;
    }
    if (key.is_text()) {
        if (value.is_dictionary()) {
            if (const Method method = find_method(value, key.text())) return bound(runtime, value, method, key.text());
            return missing_attribute(value, key.text());
        }
        return attribute(runtime, value, key.text());
    }
    return Value::undefined(
        text_of(owner(value), " has no element ", key.is_undefined() ? "Undefined" : repr(runtime, key)));
}

Value slice(Runtime& runtime, const Value& value, const Value& start, const Value& stop, const Value& step) {
    check_defined(value);
    check(is_indexed(value), "'", value.type_name(), "' object cannot be sliced");
    const std::int64_t stride = bound_of(step).value_or(1);
    if (value.is_text()) return text_slice(runtime, value, bound_of(start), bound_of(stop), stride);
    const auto& items = value.sequence().items;
    std::vector<Value> some;
    for (const std::size_t i :
         picked(runtime, static_cast<std::int64_t>(items.size()), bound_of(start), bound_of(stop), stride))
        some.push_back(items[i]);
    if (value.is_sequence(SequenceKind::Range)) return runtime.list(std::move(some));
    return runtime.sequence(value.sequence().kind, std::move(some));
}

Value call(Runtime& runtime, const Value& function, const Arguments& arguments) {
    const Level level(runtime);
    runtime.step();
    check_defined(function);
    if (function.is_loop()) return call_loop(runtime, function.loop(), arguments);
    check(function.is_callable(), "'", function.type_name(), "' object is not callable");
    const std::shared_ptr<const Callable> callable = function.callable();
    return callable->body(runtime, arguments);
}

Value item_at_path(Runtime& runtime, const Value& value, const Value& path, const Value* fallback) {
    const auto or_fallback = [&](const Value& one) {
        return one.is_undefined() && fallback && !fallback->is_none() ? *fallback : one;
    };
    if (!path.is_text()) return or_fallback(item(runtime, value, path));
    Value found = value;
    const std::string& text = path.text();
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find('.', at), text.size());
        const std::string part = text.substr(at, end - at);
        std::int64_t number = 0;
        const auto [rest, error] = std::from_chars(part.data(), part.data() + part.size(), number);
        const bool is_number = error == std::errc() && rest == part.data() + part.size() && part[0] != '-';
        found = or_fallback(item(runtime, found, is_number ? Value(number) : Value(part)));
        at = end + 1;
    }
    return found;
}

}  // namespace tessera::tokenizers::jinja
