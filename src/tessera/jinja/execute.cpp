// Statements to text.
#include <algorithm>

#include "tessera/jinja/access.h"
#include "tessera/jinja/brief.h"
#include "tessera/jinja/compare.h"
#include "tessera/jinja/interpreter.h"
#include "tessera/jinja/print.h"

namespace tessera::jinja {
namespace {

// Puts something else in a variable's place for as long as it lives.
template <class Type>
class Exchanged {
   public:
    Exchanged(Type& place, Type value) : place_(place), old_(std::exchange(place, std::move(value))) {}
    ~Exchanged() { place_ = std::move(old_); }
    Exchanged(const Exchanged&) = delete;
    Exchanged& operator=(const Exchanged&) = delete;

   private:
    Type& place_;
    Type old_;
};

std::shared_ptr<Scope> scope_within(const std::shared_ptr<Scope>& outer) {
    return std::make_shared<Scope>(Scope{.parent = outer});
}

}  // namespace

Interpreter::Interpreter(const Template& source, const formats::Json& values, Runtime& runtime)
    : template_(source),
      values_(values),
      runtime_(runtime),
      outside_(source.names.size()),
      scope_(std::make_shared<Scope>()) {}

std::string Interpreter::run() {
    std::string text;
    output_ = &text;
    execute(template_.body);
    return text;
}

Interpreter::Flow Interpreter::execute(const Body& body) {
    const Level level(runtime_);
    for (const Statement& statement : body) {
        runtime_.step();
        runtime_.line = statement.line;
        const Flow flow = std::visit([&](const auto& inner) { return node(inner); }, statement.node);
        if (flow != Flow::On) return flow;
    }
    return Flow::On;
}

void Interpreter::write(std::string_view text) {
    runtime_.charge(static_cast<std::int64_t>(text.size()));
    check(static_cast<std::int64_t>(output_->size() + text.size()) <= runtime_.limits().output,
          "the template's text has more than ", runtime_.limits().output, " bytes");
    *output_ += text;
}

std::string Interpreter::captured(const Body& body) {
    std::string text;
    const Exchanged output(output_, &text);
    const Exchanged scope(scope_, scope_within(scope_));
    execute(body);
    return text;
}

void Interpreter::assign(const Target& target, const Value& value, Scope& scope) {
    if (target.kind == Target::Kind::Name) {
        scope.set(runtime_, target.name, value);
    } else if (target.kind == Target::Kind::Attribute) {
        const Value space = node(Variable{target.name}, runtime_.line);
        check(space.is_namespace(), "cannot assign attribute '", target.attribute, "' on a ", space.type_name(),
              "; only a namespace takes it");
        space.space().members.set(runtime_, runtime_.text(std::string_view(target.attribute)), value);
    } else {
        const std::vector<Value> parts = items_of(runtime_, value);
        check(parts.size() == target.parts.size(), parts.size() > target.parts.size() ? "too many" : "not enough",
              " values to unpack (expected ", target.parts.size(), ", got ", parts.size(), ")");
        for (std::size_t i = 0; i < parts.size(); ++i) assign(target.parts[i], parts[i], scope);
    }
}

Interpreter::Flow Interpreter::node(const Data& data) {
    write(data.text);
    return Flow::On;
}

Interpreter::Flow Interpreter::node(const Print& print) {
    const Value value = evaluate(*print.value);
    write(str(runtime_, value).text());
    return Flow::On;
}

Interpreter::Flow Interpreter::node(const If& choice) {
    for (const auto& [condition, body] : choice.branches)
        if (evaluate(*condition).truth()) return execute(body);
    return execute(choice.otherwise);
}

Interpreter::Flow Interpreter::node(const For& loop) { return run_loop(loop, evaluate(*loop.items), 0); }

bool Interpreter::passes(const For& loop, const Value& item, const std::shared_ptr<Scope>& outer) {
    const Exchanged scope(scope_, scope_within(outer));
    assign(loop.target, item, *scope_);
    return evaluate(*loop.test).truth();
}

Interpreter::Flow Interpreter::run_loop(const For& node, const Value& iterable, std::int64_t depth0) {
    const Level level(runtime_);
    const std::shared_ptr<Scope> outer = scope_;
    const std::vector<Value> items = items_of(runtime_, iterable);
    const auto loop = std::make_shared<Loop>();
    const struct End {
        Loop& loop;
        ~End() { loop.end(); }
    } end{*loop};
    std::size_t next = 0;
    loop->depth0 = depth0;
    if (!node.test) loop->length = static_cast<std::int64_t>(items.size());
    loop->pull = [&](Value& item) {
        while (next < items.size()) {
            item = items[next++];
            if (!node.test || passes(node, item, outer)) return true;
        }
        return false;
    };
    if (node.recursive)
        loop->recurse = [this, &node, outer, depth0](Runtime& runtime, const Value& inner) {
            std::string text;
            const Exchanged output(output_, &text);
            const Exchanged scope(scope_, outer);
            run_loop(node, inner, depth0 + 1);
            return runtime.paid_text(std::move(text));
        };

    bool completed = false;  // an iteration that ended by break or continue does not count, as in the reference
    const Exchanged scope(scope_, outer);
    while (loop->advance()) {
        runtime_.step(3);
        scope_ = scope_within(outer);
        assign(node.target, loop->current, *scope_);
        scope_->set(runtime_, node.loop, Value(loop));
        const Flow flow = execute(node.body);
        if (flow == Flow::Break) break;
        completed = completed || flow == Flow::On;
    }
    if (completed || node.otherwise.empty()) return Flow::On;
    scope_ = scope_within(outer);
    return execute(node.otherwise);
}

Interpreter::Flow Interpreter::node(const Set& set) {
    assign(set.target, evaluate(*set.value), *scope_);
    return Flow::On;
}

Interpreter::Flow Interpreter::node(const SetBlock& set) {
    Value text = runtime_.paid_text(captured(set.body));
    for (const FilterCall& filter : set.filters) text = filtered(filter, text);
    assign(set.target, text, *scope_);
    return Flow::On;
}

Interpreter::Flow Interpreter::node(const FilterBlock& block) {
    Value text = runtime_.paid_text(captured(block.body));
    for (const FilterCall& filter : block.filters) text = filtered(filter, text);
    write(str(runtime_, text).text());
    return Flow::On;
}

Interpreter::Flow Interpreter::node(const With& with) {
    const std::shared_ptr<Scope> inner = scope_within(scope_);
    for (const auto& [target, value] : with.values) assign(target, evaluate(*value), *inner);
    const Exchanged scope(scope_, inner);
    return execute(with.body);
}

Value Interpreter::make_macro(const std::shared_ptr<const MacroBody>& macro) {
    runtime_.keep(scope_);
    // The runtime empties the scope in the end, so that the two do not keep each other.
    return runtime_.function(macro->name, [this, macro, scope = scope_](Runtime&, const Arguments& arguments) {
        return run_macro(*macro, scope, arguments);
    });
}

Interpreter::Flow Interpreter::node(const Macro& macro) {
    scope_->set(runtime_, macro.name, make_macro(macro.macro));
    return Flow::On;
}

Interpreter::Flow Interpreter::node(const CallBlock& block) {
    const Call& call = std::get<Call>(block.call->node);
    Arguments arguments = arguments_of(call.arguments);
    arguments.named.emplace_back("caller", make_macro(block.caller));
    write(str(runtime_, called(call, std::move(arguments))).text());
    return Flow::On;
}

Value Interpreter::run_macro(const MacroBody& macro, const std::shared_ptr<Scope>& scope, const Arguments& arguments) {
    const Level level(runtime_);
    std::string text;
    const Exchanged output(output_, &text);
    const Exchanged inner(scope_, scope_within(scope));
    bind_parameters(macro, arguments);
    execute(macro.body);
    return runtime_.paid_text(std::move(text));
}

void Interpreter::bind_parameters(const MacroBody& macro, const Arguments& arguments) {
    const std::size_t count = macro.parameters.size();
    runtime_.step(static_cast<std::int64_t>(count));
    std::vector<const Value*> given(count, nullptr);
    for (std::size_t i = 0; i < std::min(count, arguments.positional.size()); ++i) given[i] = &arguments.positional[i];
    check(arguments.positional.size() <= count || macro.varargs >= 0, "macro '", macro.name, "' takes not more than ",
          count, " argument(s)");
    Dictionary more;
    const Value* caller = nullptr;
    for (const auto& [name, value] : arguments.named) {
        runtime_.scan(16 * count + name.size());
        const auto place = std::find_if(macro.parameters.begin(), macro.parameters.end(),
                                        [&, &wanted = name](const Parameter& p) { return p.text == wanted; });
        if (place != macro.parameters.end()) {
            const Value*& slot = given[static_cast<std::size_t>(place - macro.parameters.begin())];
            check(slot == nullptr, "macro '", macro.name, "' got multiple values for argument '", name, "'");
            slot = &value;
        } else if (name == "caller" && macro.caller >= 0) {
            caller = &value;
        } else {
            check(macro.kwargs >= 0, "macro '", macro.name, "' takes no keyword argument '", name, "'");
            more.set(runtime_, runtime_.text(std::string_view(name)), value);
        }
    }
    for (std::size_t i = 0; i < count; ++i) {
        const Parameter& parameter = macro.parameters[i];
        Value value = given[i] ? *given[i]
                      : parameter.fallback
                          ? evaluate(*parameter.fallback)
                          : runtime_.undefined(text_of("parameter '", brief(parameter.text), "' was not provided"));
        scope_->set(runtime_, parameter.name, std::move(value));
    }
    if (macro.varargs >= 0) {
        std::vector<Value> rest;
        if (arguments.positional.size() > count)
            rest.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(count), arguments.positional.end());
        scope_->set(runtime_, macro.varargs, runtime_.tuple(std::move(rest)));
    }
    if (macro.kwargs >= 0) scope_->set(runtime_, macro.kwargs, runtime_.dictionary(std::move(more)));
    if (macro.caller >= 0)
        scope_->set(runtime_, macro.caller, caller ? *caller : runtime_.undefined("No caller defined"));
}

}  // namespace tessera::jinja
