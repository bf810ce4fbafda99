#include "tokenizers/jinja/runtime.h"

namespace tessera::tokenizers::jinja {

const Value* Scope::find(int name) const {
    for (const auto& [number, value] : variables)
        if (number == name) return &value;
    return parent ? parent->find(name) : nullptr;
}

void Scope::set(int name, Value value) {
    for (auto& [number, old] : variables)
        if (number == name) {
            old = std::move(value);
            return;
        }
    variables.emplace_back(name, std::move(value));
}

Runtime::~Runtime() {
    for (const auto& space : namespaces_) space->members = {};
    for (const auto& scope : scopes_) scope->variables.clear();
}

void Runtime::charge(std::int64_t bytes) {
    step(bytes / 256);
    check(bytes <= limits_.bytes - bytes_, "the template makes values of more than ", limits_.bytes, " bytes");
    bytes_ += bytes;
}

Value Runtime::text(std::string bytes, bool safe) {
    charge(static_cast<std::int64_t>(bytes.size()) + 64);
    return Value(std::move(bytes), safe);
}

Value Runtime::sequence(SequenceKind kind, std::vector<Value> items) {
    charge(static_cast<std::int64_t>(items.size() * sizeof(Value)) + 64);
    return Value(Sequence{.kind = kind, .items = std::move(items)});
}

Value Runtime::dictionary(Dictionary dictionary) {
    charge(static_cast<std::int64_t>(dictionary.entries().size()) * 200 + 64);
    return Value(std::move(dictionary));
}

Value Runtime::function(std::string name, std::function<Value(Runtime&, const Arguments&)> body) {
    charge(200);
    return Value(std::make_shared<const Callable>(Callable{std::move(name), std::move(body)}));
}

Value Runtime::new_namespace() {
    charge(500);
    namespaces_.push_back(std::make_shared<Namespace>());
    return Value(namespaces_.back());
}

void Runtime::keep(const std::shared_ptr<Scope>& scope) {
    charge(500);
    if (scopes_.empty() || scopes_.back() != scope) scopes_.push_back(scope);
}

std::tm Runtime::now() const {
    if (now_) return *now_;
    const std::time_t seconds = std::time(nullptr);
    std::tm time{};
    localtime_r(&seconds, &time);
    return time;
}

}  // namespace tessera::tokenizers::jinja
