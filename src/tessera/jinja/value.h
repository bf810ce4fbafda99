// A value of a template: what Python would hold. Containers never change once made (the reference runs templates in an
// immutable sandbox); only namespaces and the state of a loop do.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/formats/json.h"

namespace tessera::jinja {

class Runtime;
struct Loop;

struct Undefined {
    std::shared_ptr<const std::string> why;  // what an attempt to use it says
};
struct None {};

struct Text {
    std::string bytes;
    bool safe = false;  // marked as HTML: what is added to it is escaped
};

enum class SequenceKind : std::uint8_t { List, Tuple, Range, Keys, Values, Items, Iterator };

struct Sequence;
class Dictionary;
struct Namespace;
struct Callable;

class Value {
   public:
    Value() = default;  // undefined
    Value(const Value&) = default;
    Value(Value&&) noexcept = default;
    Value& operator=(const Value&) = default;
    Value& operator=(Value&&) noexcept = default;
    ~Value() {
        if (value_.index() >= first_holder) let_go();
    }
    Value(None) : value_(None{}) {}
    explicit Value(Undefined value) : value_(std::move(value)) {}
    explicit Value(bool value) : value_(value) {}
    explicit Value(std::int64_t value) : value_(value) {}
    explicit Value(double value) : value_(value) {}
    explicit Value(std::string text, bool safe = false)
        : value_(std::make_shared<const Text>(Text{std::move(text), safe})) {}
    explicit Value(const char* text) : Value(std::string(text)) {}
    explicit Value(Sequence sequence);      // checks the depth
    explicit Value(Dictionary dictionary);  // checks the depth
    explicit Value(std::shared_ptr<Namespace> value) : value_(std::move(value)) {}
    explicit Value(std::shared_ptr<const Callable> value) : value_(std::move(value)) {}
    explicit Value(std::shared_ptr<Loop> value) : value_(std::move(value)) {}
    static Value undefined(std::string why);

    bool is_undefined() const { return holds<Undefined>(); }
    bool is_none() const { return holds<None>(); }
    bool is_boolean() const { return holds<bool>(); }
    bool is_integer() const { return holds<std::int64_t>(); }  // a boolean is none here
    bool is_float() const { return holds<double>(); }
    bool is_number() const { return is_boolean() || is_integer() || is_float(); }
    bool is_whole() const { return is_boolean() || is_integer(); }  // what Python calls an int
    bool is_text() const { return holds<std::shared_ptr<const Text>>(); }
    bool is_sequence() const { return holds<std::shared_ptr<const Sequence>>(); }
    bool is_sequence(SequenceKind kind) const;
    bool is_dictionary() const { return holds<std::shared_ptr<const Dictionary>>(); }
    bool is_namespace() const { return holds<std::shared_ptr<Namespace>>(); }
    bool is_callable() const { return holds<std::shared_ptr<const Callable>>(); }
    bool is_loop() const { return holds<std::shared_ptr<Loop>>(); }

    // Each only where the value is of that kind.
    bool boolean() const { return std::get<bool>(value_); }
    std::int64_t whole() const { return is_boolean() ? boolean() : std::get<std::int64_t>(value_); }
    double number() const { return is_float() ? std::get<double>(value_) : static_cast<double>(whole()); }
    const std::string& text() const { return std::get<std::shared_ptr<const Text>>(value_)->bytes; }
    bool is_safe() const { return is_text() && std::get<std::shared_ptr<const Text>>(value_)->safe; }
    const Sequence& sequence() const { return *std::get<std::shared_ptr<const Sequence>>(value_); }
    const Dictionary& dictionary() const { return *std::get<std::shared_ptr<const Dictionary>>(value_); }
    Namespace& space() const { return *std::get<std::shared_ptr<Namespace>>(value_); }
    const std::shared_ptr<const Callable>& callable() const {
        return std::get<std::shared_ptr<const Callable>>(value_);
    }
    const std::shared_ptr<Loop>& loop() const { return std::get<std::shared_ptr<Loop>>(value_); }
    const Undefined& why() const { return std::get<Undefined>(value_); }

    bool truth() const;                      // as Python's bool()
    int depth() const;                       // of containers within
    bool same_as(const Value& other) const;  // Python's `is`
    std::string_view type_name() const;      // Python's name

   private:
    template <class Kind>
    bool holds() const {
        return std::holds_alternative<Kind>(value_);
    }

    // Values hold values, through lists as through functions, to any depth: what the last one lets go is freed one
    // after the other, never one within the other.
    void let_go() noexcept;

    static constexpr std::size_t first_holder = 6;  // from here on: what can hold values
    std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const Text>,
                 std::shared_ptr<const Sequence>, std::shared_ptr<const Dictionary>, std::shared_ptr<Namespace>,
                 std::shared_ptr<const Callable>, std::shared_ptr<Loop>>
        value_;
};

struct Sequence {
    SequenceKind kind = SequenceKind::List;
    std::vector<Value> items = {};
    int depth = 1;
    std::string shown = {};     // a range's text
    mutable bool used = false;  // an iterator gives its items once
};

// Keeps the order of insertion. Keys are equal as in Python: 1, 1.0 and true are one key.
class Dictionary {
   public:
    // Where a runtime is given, it is charged for what the key and the new entry take.
    const Value* find(Runtime& runtime, const Value& key) const;  // throws where the key cannot be one
    const Value* find(Runtime& runtime, std::string_view key) const;
    void set(Runtime& runtime, Value key, Value value);
    void set_given(const std::string& key, Value value);  // by the caller of the template
    Dictionary copy(Runtime& runtime) const;

    const std::vector<std::pair<Value, Value>>& entries() const { return entries_; }
    int depth() const { return depth_; }

   private:
    void put(std::string text, Value key, Value value);

    std::vector<std::pair<Value, Value>> entries_;
    // By the key's text. A tree: a stranger can choose keys that would all meet in one place of a hash table.
    std::map<std::string, std::size_t, std::less<>> index_;
    std::int64_t bytes_ = 0;
    int depth_ = 1;
};

struct Namespace {
    Dictionary members;
};

struct Arguments {
    std::vector<Value> positional = {};
    std::vector<std::pair<std::string, Value>> named = {};
};

struct Callable {
    std::string name;
    std::function<Value(Runtime&, const Arguments&)> body;
};

inline bool Value::is_sequence(SequenceKind kind) const { return is_sequence() && sequence().kind == kind; }

Value value_of(const formats::Json& json);

Value list_of(std::vector<Value> items);
Value tuple_of(std::vector<Value> items);

[[noreturn]] void fail_undefined(const Value& value);  // what is undefined was used
void check_defined(const Value& value);

}  // namespace tessera::jinja
