// The state of one rendering: budgets, the clock, and the objects that can refer to
// themselves.
//
// Everything that a template can have done is paid for here, by the bytes that it touches: before it is done, or while
// it is, so that no single operation can run away.
#pragma once

#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "tessera/core/error.h"
#include "tessera/jinja/limits.h"
#include "tessera/jinja/value.h"

namespace tessera::jinja {

class Runtime;

// Variables by the number of their name. A loop's body, a macro's and a captured block's have one each.
struct Scope {
    std::shared_ptr<Scope> parent = {};
    std::map<int, Value> variables = {};

    const Value* find(Runtime& runtime, int name) const;
    void set(Runtime& runtime, int name, Value value);  // in this scope
};

class Runtime {
   public:
    Runtime(const Limits& limits, std::optional<std::tm> now) : limits_(limits), now_(now) {}
    ~Runtime();
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    // Work: a step of the interpreter; bytes that are copied, compared or skipped over; bytes that are looked at one
    // character after the other, or searched.
    void step(std::int64_t count = 1) { work(count * work_of_step); }
    void scan(std::size_t bytes) { work(static_cast<std::int64_t>(bytes)); }
    void walk(std::size_t bytes) { work(static_cast<std::int64_t>(bytes) * work_of_character); }
    void charge(std::int64_t bytes);       // memory about to be taken, and the work of filling it
    void charge_items(std::size_t count);  // the same for values of a list

    // New values, charged for.
    Value text(std::string bytes, bool safe = false);
    Value text(std::string_view bytes, bool safe = false);
    Value paid_text(std::string bytes, bool safe = false);  // its bytes have been charged for already
    Value list(std::vector<Value> items) { return sequence(SequenceKind::List, std::move(items)); }
    Value tuple(std::vector<Value> items) { return sequence(SequenceKind::Tuple, std::move(items)); }
    Value iterator(std::vector<Value> items) { return sequence(SequenceKind::Iterator, std::move(items)); }
    Value sequence(Sequence sequence);
    Value sequence(SequenceKind kind, std::vector<Value> items) {
        return sequence({.kind = kind, .items = std::move(items)});
    }
    Value dictionary(Dictionary dictionary);
    Value function(std::string name, std::function<Value(Runtime&, const Arguments&)> body);
    Value undefined(std::string_view why);
    Value new_namespace(Dictionary members);

    // A macro holds its scope and the scope may hold the macro: both last until the end, and are emptied there.
    void keep(const std::shared_ptr<Scope>& scope);

    std::tm now() const;
    const Limits& limits() const { return limits_; }
    std::int64_t steps() const { return work_ / work_of_step; }  // taken so far
    std::int64_t bytes() const { return bytes_; }                // charged so far

    int line = 1;   // of what is evaluated
    int depth = 0;  // of evaluations within evaluations

   private:
    static constexpr std::int64_t work_of_step = 256, work_of_character = 32, work_of_item = 48;

    void work(std::int64_t amount) {
        if (amount > limits_.steps * work_of_step - work_) fail_worked();
        work_ += amount;
    }
    [[noreturn]] void fail_worked() const;

    Limits limits_;
    std::optional<std::tm> now_;
    std::int64_t work_ = 0, bytes_ = 0;
    std::vector<std::shared_ptr<Namespace>> namespaces_;
    std::vector<std::shared_ptr<Scope>> scopes_;
};

// Holds a level of the stack.
class Level {
   public:
    explicit Level(Runtime& runtime) : runtime_(runtime) {
        check(runtime.depth < runtime.limits().depth, "the template nests more than ", runtime.limits().depth, " deep");
        ++runtime_.depth;
    }
    ~Level() { --runtime_.depth; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Runtime& runtime_;
};

}  // namespace tessera::jinja
