#include "tessera/jinja/compare.h"

#include <algorithm>

#include "tessera/jinja/code_points.h"
#include "tessera/jinja/loop.h"
#include "tessera/jinja/runtime.h"
#include "tessera/jinja/text_search.h"

namespace tessera::jinja {
namespace {

bool equal_numbers(const Value& a, const Value& b) {
    if (a.is_whole() && b.is_whole()) return a.whole() == b.whole();
    return a.number() == b.number();
}

bool same_or_equal(Runtime& runtime, const Value& a, const Value& b) {
    runtime.scan(32);
    return a.same_as(b) || equal(runtime, a, b);
}

// The bytes of the two that are compared.
std::size_t compared(const Value& a, const Value& b) { return std::min(a.text().size(), b.text().size()); }

bool equal_texts(Runtime& runtime, const Value& a, const Value& b) {
    if (a.text().size() != b.text().size()) return false;
    runtime.scan(compared(a, b));
    return a.text() == b.text();
}

bool equal_sequences(Runtime& runtime, const Sequence& a, const Sequence& b) {
    if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
    for (std::size_t i = 0; i < a.items.size(); ++i)
        if (!same_or_equal(runtime, a.items[i], b.items[i])) return false;
    return true;
}

bool equal_dictionaries(Runtime& runtime, const Dictionary& a, const Dictionary& b) {
    if (a.entries().size() != b.entries().size()) return false;
    for (const auto& [key, value] : a.entries()) {
        const Value* other = b.find(runtime, key);
        if (!other || !same_or_equal(runtime, value, *other)) return false;
    }
    return true;
}

// Lists and tuples: by the first difference.
bool less_sequence(Runtime& runtime, const Value& a, const Value& b, bool or_equal, std::string_view symbol) {
    const auto& left = a.sequence().items;
    const auto& right = b.sequence().items;
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
        if (same_or_equal(runtime, left[i], right[i])) continue;
        return or_equal ? less_or_equal(runtime, left[i], right[i], symbol) : less(runtime, left[i], right[i], symbol);
    }
    return or_equal ? left.size() <= right.size() : left.size() < right.size();
}

bool compare(Runtime& runtime, const Value& a, const Value& b, bool or_equal, std::string_view symbol) {
    const Level level(runtime);
    runtime.step();
    check_defined(a);
    check_defined(b);
    if (a.is_whole() && b.is_whole()) return or_equal ? a.whole() <= b.whole() : a.whole() < b.whole();
    if (a.is_number() && b.is_number()) return or_equal ? a.number() <= b.number() : a.number() < b.number();
    // UTF-8 is ordered as its code points are.
    if (a.is_text() && b.is_text()) {
        runtime.scan(compared(a, b));
        return or_equal ? a.text() <= b.text() : a.text() < b.text();
    }
    const bool ordered = a.is_sequence() && b.is_sequence() && a.sequence().kind == b.sequence().kind &&
                         (a.is_sequence(SequenceKind::List) || a.is_sequence(SequenceKind::Tuple));
    check(ordered, "'", symbol, "' not supported between instances of '", a.type_name(), "' and '", b.type_name(), "'");
    return less_sequence(runtime, a, b, or_equal, symbol);
}

}  // namespace

bool equal(Runtime& runtime, const Value& a, const Value& b) {
    const Level level(runtime);
    runtime.step();
    if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
    if (a.is_number() && b.is_number()) return equal_numbers(a, b);
    if (a.is_text() && b.is_text()) return equal_texts(runtime, a, b);
    if (a.is_sequence() && b.is_sequence()) {
        if (a.is_sequence(SequenceKind::Iterator)) return a.same_as(b);
        return equal_sequences(runtime, a.sequence(), b.sequence());
    }
    if (a.is_dictionary() && b.is_dictionary()) return equal_dictionaries(runtime, a.dictionary(), b.dictionary());
    return a.same_as(b);
}

bool less(Runtime& runtime, const Value& a, const Value& b, std::string_view symbol) {
    return compare(runtime, a, b, false, symbol);
}
bool less_or_equal(Runtime& runtime, const Value& a, const Value& b, std::string_view symbol) {
    return compare(runtime, a, b, true, symbol);
}

bool contains(Runtime& runtime, const Value& container, const Value& item) {
    if (container.is_text()) {
        check(item.is_text(), "'in <string>' requires string as left operand, not ", item.type_name());
        return search(runtime, container.text(), item.text()) != std::string::npos;
    }
    if (container.is_dictionary()) return container.dictionary().find(runtime, item) != nullptr;
    if (container.is_sequence() && !container.is_sequence(SequenceKind::Iterator)) {
        for (const Value& other : container.sequence().items)
            if (same_or_equal(runtime, other, item)) return true;
        return false;
    }
    check(container.is_undefined() || container.is_sequence(), "argument of type '", container.type_name(),
          "' is not iterable");
    for (const Value& other : items_of(runtime, container))
        if (same_or_equal(runtime, other, item)) return true;
    return false;
}

std::vector<Value> items_of(Runtime& runtime, const Value& value) {
    if (value.is_undefined()) return {};
    std::vector<Value> items;
    if (value.is_text()) {
        const std::string& text = value.text();
        for (std::size_t at = 0; at < text.size(); at += width_at(text, at)) {
            runtime.charge_items(1);
            items.push_back(runtime.text(text.substr(at, width_at(text, at))));
        }
        return items;
    }
    if (value.is_sequence()) {
        const Sequence& sequence = value.sequence();
        if (sequence.kind == SequenceKind::Iterator && std::exchange(sequence.used, true)) return {};
        runtime.charge_items(sequence.items.size());
        return sequence.items;
    }
    if (value.is_dictionary()) {
        runtime.charge_items(value.dictionary().entries().size());
        for (const auto& [key, _] : value.dictionary().entries()) items.push_back(key);
        return items;
    }
    fail("'", value.type_name(), "' object is not iterable");
}

std::int64_t size_of(Runtime& runtime, const Value& value) {
    if (value.is_undefined()) return 0;
    if (value.is_text()) {
        runtime.walk(value.text().size());
        return length_of(value.text());
    }
    if (value.is_sequence() && !value.is_sequence(SequenceKind::Iterator))
        return static_cast<std::int64_t>(value.sequence().items.size());
    if (value.is_dictionary()) return static_cast<std::int64_t>(value.dictionary().entries().size());
    if (value.is_loop()) return value.loop()->count();
    fail("object of type '", value.type_name(), "' has no len()");
}

}  // namespace tessera::jinja
