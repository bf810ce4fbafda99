#include "tessera/jinja/access.h"

#include <algorithm>
#include <charconv>

#include "tessera/jinja/brief.h"
#include "tessera/jinja/code_points.h"
#include "tessera/jinja/compare.h"
#include "tessera/jinja/loop.h"
#include "tessera/jinja/methods.h"
#include "tessera/jinja/print.h"
#include "tessera/jinja/runtime.h"
#include "tessera/jinja/text_builder.h"

namespace tessera::jinja {
namespace {

Value bound(Runtime& runtime, const Value& self, Method method, std::string_view name) {
    return runtime.function(std::string(name), [self, method](Runtime& inner, const Arguments& arguments) {
        return method(inner, self, arguments);
    });
}

std::string owner(const Value& value) { return text_of("'", value.type_name(), " object'"); }

Value missing_attribute(Runtime& runtime, const Value& value, std::string_view name) {
    return runtime.undefined(text_of(owner(value), " has no attribute '", brief(name), "'"));
}

// Null where Python would raise.
std::optional<Value> element(Runtime& runtime, const Value& value, std::int64_t index) {
    // A text is as long as its end is far: a count from the left does not need its length.
    if (index < 0) index += size_of(runtime, value);
    const std::int64_t most =
        value.is_text() ? static_cast<std::int64_t>(value.text().size()) : size_of(runtime, value);
    if (index < 0 || index >= most) return {};
    if (value.is_sequence()) return value.sequence().items[static_cast<std::size_t>(index)];
    const std::string_view text = value.text();
    runtime.walk(static_cast<std::size_t>(index));
    const std::size_t at = first_of(text, index).size();
    if (at == text.size()) return {};
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

// The indices that [start:stop:step] picks, by Python's rules: the first, how many, and from one to the next.
struct Picked {
    std::int64_t first = 0, step = 1;
    std::size_t count = 0;

    std::size_t operator[](std::size_t i) const {
        return static_cast<std::size_t>(static_cast<std::uint64_t>(first) + i * static_cast<std::uint64_t>(step));
    }
};

Picked picked(std::int64_t size, std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
              std::int64_t step) {
    check(step != 0, "slice step cannot be zero");
    const std::int64_t lowest = step < 0 ? -1 : 0, highest = step < 0 ? size - 1 : size;
    const auto place = [&](std::optional<std::int64_t> bound, std::int64_t fallback) {
        if (!bound) return fallback;
        return *bound < 0 ? std::max(*bound + size, lowest) : std::min(*bound, highest);
    };
    const std::int64_t first = place(start, step < 0 ? highest : lowest),
                       last = place(stop, step < 0 ? lowest : highest);
    const std::int64_t distance = step < 0 ? first - last : last - first;
    if (distance <= 0) return {.step = step};
    const std::uint64_t stride = step < 0 ? 0 - static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
    const std::size_t count = (static_cast<std::uint64_t>(distance) - 1) / stride + 1;
    return {.first = first, .step = step, .count = count};
}

Value text_slice(Runtime& runtime, const Value& value, std::optional<std::int64_t> start,
                 std::optional<std::int64_t> stop, std::int64_t step) {
    const std::string_view text = value.text();
    const Picked chosen = picked(size_of(runtime, value), start, stop, step);
    if (chosen.count == 0) return runtime.text(std::string_view(), value.is_safe());
    runtime.walk(text.size());
    if (step == 1) {
        const std::string_view rest = text.substr(first_of(text, chosen.first).size());
        return runtime.text(first_of(rest, static_cast<std::int64_t>(chosen.count)), value.is_safe());
    }
    runtime.charge(static_cast<std::int64_t>(text.size() * sizeof(std::size_t)));
    const std::vector<std::size_t> offsets = offsets_of(text);
    TextBuilder result(runtime);
    for (std::size_t i = 0; i < chosen.count; ++i)
        result.append(text.substr(offsets[chosen[i]], offsets[chosen[i] + 1] - offsets[chosen[i]]));
    return result.value(value.is_safe());
}

}  // namespace

Value attribute(Runtime& runtime, const Value& value, std::string_view name) {
    runtime.step();
    check_defined(value);
    if (value.is_namespace()) {
        const Value* found = value.space().members.find(runtime, name);
        return found ? *found : missing_attribute(runtime, value, name);
    }
    if (value.is_loop()) return loop_attribute(runtime, value.loop(), name);
    if (const Method method = find_method(value, name)) return bound(runtime, value, method, name);
    if (value.is_dictionary() && !is_changing_method(name))
        if (const Value* found = value.dictionary().find(runtime, name)) return *found;
    if (value.is_callable() && name == "name") return runtime.text(std::string_view(value.callable()->name));
    if (value.is_dictionary() && is_changing_method(name))
        return runtime.undefined(text_of("access to attribute '", name, "' of 'dict' object is unsafe"));
    return missing_attribute(runtime, value, name);
}

Value item(Runtime& runtime, const Value& value, const Value& key) {
    runtime.step();
    check_defined(value);
    if (is_indexed(value) && key.is_whole()) {
        if (std::optional<Value> found = element(runtime, value, key.whole())) return *found;
        return runtime.undefined(text_of(owner(value), " has no element ", key.whole()));
    }
    if (value.is_dictionary()) {
        const bool can_be_key = !key.is_undefined() && !key.is_dictionary() &&
                                (!key.is_sequence() || key.is_sequence(SequenceKind::Tuple)) && !key.is_namespace() &&
                                !key.is_loop() && !key.is_callable();
        if (can_be_key)
            if (const Value* found = value.dictionary().find(runtime, key)) return *found;
    }
    if (key.is_text()) {
        if (value.is_dictionary()) {
            if (const Method method = find_method(value, key.text())) return bound(runtime, value, method, key.text());
            return missing_attribute(runtime, value, key.text());
        }
        return attribute(runtime, value, key.text());
    }
    return runtime.undefined(text_of(owner(value), " has no element ", brief(repr(runtime, key).text())));
}

Value slice(Runtime& runtime, const Value& value, const Value& start, const Value& stop, const Value& step) {
    check_defined(value);
    check(is_indexed(value), "'", value.type_name(), "' object cannot be sliced");
    const std::int64_t stride = bound_of(step).value_or(1);
    if (value.is_text()) return text_slice(runtime, value, bound_of(start), bound_of(stop), stride);
    const auto& items = value.sequence().items;
    const Picked chosen = picked(static_cast<std::int64_t>(items.size()), bound_of(start), bound_of(stop), stride);
    runtime.charge_items(chosen.count);
    std::vector<Value> some;
    some.reserve(chosen.count);
    for (std::size_t i = 0; i < chosen.count; ++i) some.push_back(items[chosen[i]]);
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
    runtime.charge(static_cast<std::int64_t>(text.size()));
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

}  // namespace tessera::jinja
