// What one rendering may still use, and what it must keep: budgets, the clock, and the objects that can refer to
// themselves.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <optional>

#include "core/error.h"
#include "tokenizers/jinja/limits.h"
#include "tokenizers/jinja/value.h"

namespace tessera::tokenizers::jinja {

// Variables by the number of their name. A loop's body, a macro's and a captured block's have one each.
struct Scope {
    std::shared_ptr<Scope> parent = {};
    std::vector<std::pair<int, Value>> variables = {};

    const Value* find(int name) const;
    void set(int name, Value value);  // in this scope
};

class Runtime {
   public:
    Runtime(const Limits& limits, std::optional<std::tm> now) : limits_(limits), now_(now) {}
    ~Runtime();
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    void step(std::int64_t count = 1) {
        if ((steps_ += count) > limits_.steps) fail("the template takes more than ", limits_.steps, " steps");
    }
    void charge(std::int64_t bytes);  // of a value about to be made

    // New values, charged for.
    Value text(std::string bytes, bool safe = false);
    Value list(std::vector<Value> items) { return sequence(SequenceKind::List, std::move(items)); }
    Value tuple(std::vector<Value> items) { return sequence(SequenceKind::Tuple, std::move(items)); }
    Value iterator(std::vector<Value> items) { return sequence(SequenceKind::Iterator, std::move(items)); }
    Value sequence(SequenceKind kind, std::vector<Value> items);
    Value dictionary(Dictionary dictionary);
    Value function(std::string name, std::function<Value(Runtime&, const Arguments&)> body);
    Value new_namespace();

    // A macro holds its scope and the scope may hold the macro: both last until the end, and are emptied there.
    void keep(const std::shared_ptr<Scope>& scope);

    std::tm now() const;
    const Limits& limits() const { return limits_; }

    int line = 1;   // of what is evaluated
    int depth = 0;  // of evaluations within evaluations

   private:
    Limits limits_;
    std::optional<std::tm> now_;
    std::int64_t steps_ = 0, bytes_ = 0;
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

}  // namespace tessera::tokenizers::jinja
