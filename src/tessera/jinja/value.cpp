#include "tessera/jinja/value.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tessera/core/error.h"
#include "tessera/jinja/limits.h"
#include "tessera/jinja/loop.h"
#include "tessera/jinja/runtime.h"

namespace tessera::jinja {
namespace {

constexpr std::size_t most_key = 1 << 20;  // bytes of a tuple's text
constexpr std::int64_t bytes_of_entry = 250;

// What has been let go and is to be freed.
struct Freeing {
    std::vector<std::shared_ptr<const void>> waiting = {};
    bool runs = false;
};
thread_local Freeing freeing;

// Equal keys have equal texts.
void append_key(std::string& text, const Value& key) {
    if (key.is_text()) {
        text += text_of("s", key.text().size(), ":", key.text());
    } else if (key.is_whole()) {
        text += text_of("i", key.whole());
    } else if (key.is_float()) {
        const double number = key.number();
        if (number == std::floor(number) && std::abs(number) < 9e18)
            text += text_of("i", static_cast<std::int64_t>(number));
        else
            text += text_of("f", std::bit_cast<std::uint64_t>(number));
    } else if (key.is_none() || key.is_undefined()) {
        text += key.is_none() ? 'n' : 'u';
    } else if (key.is_sequence(SequenceKind::Tuple)) {
        text += '(';
        for (const Value& item : key.sequence().items) {
            append_key(text, item);
            check(text.size() <= most_key, "a tuple is too long for a key");
        }
        text += ')';
    } else {
        fail("unhashable type: '", key.type_name(), "'");
    }
}

std::string key_text(std::string_view key) { return text_of("s", key.size(), ":", key); }

std::string key_text(Runtime& runtime, const Value& key) {
    if (key.is_text()) runtime.scan(8 * key.text().size());
    std::string text;
    append_key(text, key);
    if (!key.is_text()) runtime.walk(text.size());
    return text;
}

}  // namespace

const Value* Dictionary::find(Runtime& runtime, const Value& key) const {
    const std::string text = key_text(runtime, key);
    runtime.scan(text.size());
    const auto found = index_.find(text);
    return found == index_.end() ? nullptr : &entries_[found->second].second;
}

const Value* Dictionary::find(Runtime& runtime, std::string_view key) const {
    runtime.scan(8 * key.size());
    const auto found = index_.find(key_text(key));
    return found == index_.end() ? nullptr : &entries_[found->second].second;
}

void Dictionary::set(Runtime& runtime, Value key, Value value) {
    std::string text = key_text(runtime, key);
    if (!index_.contains(text)) runtime.charge(bytes_of_entry + static_cast<std::int64_t>(text.size()));
    put(std::move(text), std::move(key), std::move(value));
}

void Dictionary::set_given(const std::string& key, Value value) { put(key_text(key), Value(key), std::move(value)); }

void Dictionary::put(std::string text, Value key, Value value) {
    depth_ = std::max(depth_, 1 + std::max(key.depth(), value.depth()));
    const std::int64_t bytes = bytes_of_entry + static_cast<std::int64_t>(text.size());
    const auto [place, is_new] = index_.try_emplace(std::move(text), entries_.size());
    if (is_new) {
        bytes_ += bytes;
        entries_.emplace_back(std::move(key), std::move(value));
    } else {
        entries_[place->second].second = std::move(value);
    }
}

Dictionary Dictionary::copy(Runtime& runtime) const {
    runtime.charge(bytes_);
    return *this;
}

void Value::let_go() noexcept {
    std::shared_ptr<const void> last;
    std::visit(
        [&]<class Kind>(Kind& held) {
            if constexpr (requires { held.use_count(); })
                if (held.use_count() == 1) last = std::move(held);
        },
        value_);
    if (!last) return;
    if (freeing.runs) {
        freeing.waiting.push_back(std::move(last));
        return;
    }
    freeing.runs = true;
    last.reset();
    while (!freeing.waiting.empty()) {
        last = std::move(freeing.waiting.back());
        freeing.waiting.pop_back();
        last.reset();
    }
    if (freeing.waiting.capacity() > 1024) freeing.waiting = {};
    freeing.runs = false;
}

Value::Value(Sequence sequence) {
    for (const Value& item : sequence.items) sequence.depth = std::max(sequence.depth, 1 + item.depth());
    check(sequence.depth <= most_value_depth, "values are nested more than ", most_value_depth, " deep");
    value_ = std::make_shared<const Sequence>(std::move(sequence));
}

Value::Value(Dictionary dictionary) {
    check(dictionary.depth() <= most_value_depth, "values are nested more than ", most_value_depth, " deep");
    value_ = std::make_shared<const Dictionary>(std::move(dictionary));
}

Value Value::undefined(std::string why) {
    return Value(Undefined{std::make_shared<const std::string>(std::move(why))});
}

bool Value::truth() const {
    if (is_undefined() || is_none()) return false;
    if (is_boolean()) return boolean();
    if (is_number()) return number() != 0;
    if (is_text()) return !text().empty();
    if (is_sequence()) return sequence().kind == SequenceKind::Iterator || !sequence().items.empty();
    if (is_dictionary()) return !dictionary().entries().empty();
    return true;
}

int Value::depth() const {
    if (is_sequence()) return sequence().depth;
    if (is_dictionary()) return dictionary().depth();
    return 0;
}

bool Value::same_as(const Value& other) const {
    if (value_.index() != other.value_.index()) return false;
    return std::visit(
        [&]<class Kind>(const Kind& mine) {
            const Kind& theirs = std::get<Kind>(other.value_);
            if constexpr (std::is_same_v<Kind, Undefined>)
                return mine.why == theirs.why;
            else if constexpr (std::is_same_v<Kind, None>)
                return true;
            else
                return mine == theirs;
        },
        value_);
}

std::string_view Value::type_name() const {
    if (is_undefined()) return "Undefined";
    if (is_none()) return "NoneType";
    if (is_boolean()) return "bool";
    if (is_integer()) return "int";
    if (is_float()) return "float";
    if (is_text()) return is_safe() ? "Markup" : "str";
    if (is_dictionary()) return "dict";
    if (is_namespace()) return "Namespace";
    if (is_callable()) return "function";
    if (is_loop()) return "LoopContext";
    constexpr std::string_view names[] = {"list",        "tuple",      "range",    "dict_keys",
                                          "dict_values", "dict_items", "generator"};
    return names[static_cast<std::size_t>(sequence().kind)];
}

Value value_of(const formats::Json& json) {
    using Kind = formats::Json::Kind;
    switch (json.kind()) {
        case Kind::Null: return None{};
        case Kind::Boolean: return Value(json.as_boolean());
        case Kind::Integer: return Value(json.as_integer());
        case Kind::Number: return Value(json.as_number());
        case Kind::String: return Value(json.as_string());
        case Kind::Array: {
            std::vector<Value> items;
            items.reserve(json.items().size());
            for (const formats::Json& item : json.items()) items.push_back(value_of(item));
            return list_of(std::move(items));
        }
        case Kind::Object: {
            Dictionary dictionary;
            for (const auto& [key, value] : json.members()) dictionary.set_given(key, value_of(value));
            return Value(std::move(dictionary));
        }
    }
    fail("json of no known kind");
}

Value list_of(std::vector<Value> items) {
    return Value(Sequence{.kind = SequenceKind::List, .items = std::move(items)});
}
Value tuple_of(std::vector<Value> items) {
    return Value(Sequence{.kind = SequenceKind::Tuple, .items = std::move(items)});
}

void fail_undefined(const Value& value) {
    const auto& why = value.why().why;
    fail(why ? std::string_view(*why) : std::string_view("an undefined value is used"));
}

void check_defined(const Value& value) {
    if (value.is_undefined()) fail_undefined(value);
}

}  // namespace tessera::jinja
