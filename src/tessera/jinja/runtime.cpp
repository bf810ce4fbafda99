#include "tessera/jinja/runtime.h"

#include "tessera/jinja/brief.h"

namespace tessera::jinja {
namespace {

// What the objects themselves take, beside what they hold.
constexpr std::int64_t bytes_of_text = 80, bytes_of_sequence = 120, bytes_of_dictionary = 120, bytes_of_function = 200,
                       bytes_of_namespace = 300, bytes_of_scope = 300, bytes_of_variable = 80;

}  // namespace

const Value* Scope::find(Runtime& runtime, int name) const {
    for (const Scope* scope = this; scope; scope = scope->parent.get()) {
        if (const auto found = scope->variables.find(name); found != scope->variables.end()) return &found->second;
        runtime.scan(64);
    }
    return nullptr;
}

void Scope::set(Runtime& runtime, int name, Value value) {
    const auto [place, is_new] = variables.try_emplace(name);
    if (is_new) runtime.charge(bytes_of_variable);
    place->second = std::move(value);
}

Runtime::~Runtime() {
    for (const auto& space : namespaces_) space->members = {};
    for (const auto& scope : scopes_) scope->variables.clear();
}

void Runtime::fail_worked() const { fail("the template takes more than ", limits_.steps, " steps"); }

void Runtime::charge(std::int64_t bytes) {
    check(bytes <= limits_.bytes - bytes_, "the template makes values of more than ", limits_.bytes, " bytes");
    bytes_ += bytes;
    work(bytes);
}

void Runtime::charge_items(std::size_t count) {
    charge(static_cast<std::int64_t>(count * sizeof(Value)));
    work(static_cast<std::int64_t>(count) * work_of_item);
}

Value Runtime::text(std::string bytes, bool safe) {
    charge(static_cast<std::int64_t>(bytes.size()));
    return paid_text(std::move(bytes), safe);
}

Value Runtime::text(std::string_view bytes, bool safe) {
    charge(static_cast<std::int64_t>(bytes.size()));
    return paid_text(std::string(bytes), safe);
}

Value Runtime::paid_text(std::string bytes, bool safe) {
    charge(bytes_of_text);
    if (bytes.capacity() > bytes.size() + bytes.size() / 4 + 64) bytes.shrink_to_fit();
    return Value(std::move(bytes), safe);
}

Value Runtime::sequence(Sequence sequence) {
    charge(bytes_of_sequence);
    charge_items(sequence.items.size());
    return Value(std::move(sequence));
}

Value Runtime::dictionary(Dictionary dictionary) {
    charge(bytes_of_dictionary);
    return Value(std::move(dictionary));
}

Value Runtime::function(std::string name, std::function<Value(Runtime&, const Arguments&)> body) {
    charge(bytes_of_function + static_cast<std::int64_t>(name.size()));
    return Value(std::make_shared<const Callable>(Callable{std::move(name), std::move(body)}));
}

Value Runtime::undefined(std::string_view why) {
    const std::string_view shown = brief(why);
    charge(bytes_of_text + static_cast<std::int64_t>(shown.size()));
    return Value::undefined(std::string(shown));
}

Value Runtime::new_namespace(Dictionary members) {
    charge(bytes_of_namespace);
    namespaces_.push_back(std::make_shared<Namespace>(Namespace{std::move(members)}));
    return Value(namespaces_.back());
}

void Runtime::keep(const std::shared_ptr<Scope>& scope) {
    charge(bytes_of_scope);
    if (scopes_.empty() || scopes_.back() != scope) scopes_.push_back(scope);
}

std::tm Runtime::now() const {
    if (now_) return *now_;
    const std::time_t seconds = std::time(nullptr);
    std::tm time{};
    localtime_r(&seconds, &time);
    return time;
}

}  // namespace tessera::jinja
