// Expressions to values.
#include "tessera/jinja/access.h"
#include "tessera/jinja/compare.h"
#include "tessera/jinja/globals.h"
#include "tessera/jinja/interpreter.h"
#include "tessera/jinja/methods.h"
#include "tessera/jinja/print.h"
#include "tessera/jinja/text_builder.h"

namespace tessera::jinja {

Value Interpreter::evaluate(const Expression& expression) {
    const Level level(runtime_);
    runtime_.step();
    runtime_.line = expression.line;
    return std::visit([&](const auto& inner) { return node(inner, expression.line); }, expression.node);
}

Value Interpreter::evaluate(const ExpressionPointer& expression) { return expression ? evaluate(*expression) : None{}; }

Value Interpreter::node(const Literal& literal, int) { return literal.value; }

Value Interpreter::node(const Variable& variable, int) {
    if (const Value* found = scope_->find(runtime_, variable.name)) return *found;
    std::optional<Value>& value = outside_[static_cast<std::size_t>(variable.name)];
    if (!value) {
        const std::string& name = template_.names[static_cast<std::size_t>(variable.name)];
        const formats::Json* given = values_.find(name);
        value = given ? value_of(*given) : global(runtime_, name);
    }
    return *value;
}

Value Interpreter::node(const ListDisplay& list, int) {
    std::vector<Value> items;
    for (const auto& item : list.items) items.push_back(evaluate(*item));
    return runtime_.sequence(list.kind, std::move(items));
}

Value Interpreter::node(const DictionaryDisplay& dictionary, int) {
    Dictionary result;
    for (const auto& [key, value] : dictionary.entries) {
        Value name = evaluate(*key);
        result.set(runtime_, std::move(name), evaluate(*value));
    }
    return runtime_.dictionary(std::move(result));
}

Value Interpreter::node(const Attribute& attribute, int line) {
    const Value object = evaluate(*attribute.object);
    runtime_.line = line;
    return jinja::attribute(runtime_, object, attribute.name);
}

Value Interpreter::node(const Subscript& subscript, int line) {
    const Value object = evaluate(*subscript.object), key = evaluate(*subscript.key);
    runtime_.line = line;
    return item(runtime_, object, key);
}

Value Interpreter::node(const Slice& slice, int line) {
    const Value object = evaluate(*slice.object);
    const Value start = evaluate(slice.start), stop = evaluate(slice.stop), step = evaluate(slice.step);
    runtime_.line = line;
    return jinja::slice(runtime_, object, start, stop, step);
}

Arguments Interpreter::arguments_of(const CallArguments& arguments) {
    Arguments result;
    for (const auto& value : arguments.positional) result.positional.push_back(evaluate(*value));
    if (arguments.more)
        for (Value& value : items_of(runtime_, evaluate(*arguments.more)))
            result.positional.push_back(std::move(value));
    const auto add = [&](const std::string& name, Value value) {
        runtime_.charge(static_cast<std::int64_t>(sizeof(std::pair<std::string, Value>) + name.size()));
        result.named.emplace_back(name, std::move(value));
    };
    for (const auto& [name, value] : arguments.named) add(name, evaluate(*value));
    if (arguments.more_named) {
        const Value more = evaluate(*arguments.more_named);
        check(more.is_dictionary(), "argument after ** must be a mapping, not ", more.type_name());
        for (const auto& [name, value] : more.dictionary().entries()) {
            check(name.is_text(), "keywords must be strings");
            add(name.text(), value);
        }
    }
    return result;
}

Value Interpreter::called(const Call& call, Arguments arguments) {
    // A method is called without making a value of it first.
    if (const auto* attribute = std::get_if<Attribute>(&call.function->node)) {
        const Value object = evaluate(*attribute->object);
        if (const Method method = find_method(object, attribute->name)) {
            const Level level(runtime_);
            return method(runtime_, object, arguments);
        }
        return jinja::call(runtime_, jinja::attribute(runtime_, object, attribute->name), arguments);
    }
    return jinja::call(runtime_, evaluate(*call.function), arguments);
}

Value Interpreter::node(const Call& call, int line) {
    Arguments arguments = arguments_of(call.arguments);
    runtime_.line = line;
    return called(call, std::move(arguments));
}

Value Interpreter::filtered(const FilterCall& call, const Value& input) {
    const Arguments arguments = arguments_of(call.arguments);
    runtime_.line = call.line;
    check(call.filter != nullptr, "unknown filter '", call.name, "'");
    return apply_filter(runtime_, call.filter, input, arguments);
}

Value Interpreter::node(const Filtered& filter, int) { return filtered(filter.call, evaluate(*filter.input)); }

Value Interpreter::node(const Tested& tested, int line) {
    const Value value = evaluate(*tested.value);
    const Arguments arguments = arguments_of(tested.arguments);
    runtime_.line = line;
    check(tested.predicate != nullptr, "unknown test '", tested.name, "'");
    return Value(tested.predicate(runtime_, value, arguments));
}

Value Interpreter::node(const Unary& unary, int line) {
    const Value value = evaluate(*unary.value);
    runtime_.line = line;
    switch (unary.op) {
        case UnaryOperator::Not: return Value(!value.truth());
        case UnaryOperator::Negate: return negate(value);
        case UnaryOperator::Plus: return posit(value);
    }
    fail("no such operator");
}

Value Interpreter::node(const Binary& binary, int line) {
    const Value left = evaluate(*binary.left), right = evaluate(*binary.right);
    runtime_.line = line;
    return apply(runtime_, binary.op, left, right);
}

Value Interpreter::node(const Comparison& comparison, int line) {
    Value left = evaluate(*comparison.first);
    for (const auto& [relation, expression] : comparison.rest) {
        Value right = evaluate(*expression);
        runtime_.line = line;
        bool holds = false;
        switch (relation) {
            case Relation::Equal: holds = equal(runtime_, left, right); break;
            case Relation::NotEqual: holds = !equal(runtime_, left, right); break;
            case Relation::Less: holds = less(runtime_, left, right); break;
            case Relation::LessOrEqual: holds = less_or_equal(runtime_, left, right); break;
            case Relation::Greater: holds = less(runtime_, right, left, ">"); break;
            case Relation::GreaterOrEqual: holds = less_or_equal(runtime_, right, left, ">="); break;
            case Relation::In: holds = contains(runtime_, right, left); break;
            case Relation::NotIn: holds = !contains(runtime_, right, left); break;
        }
        if (!holds) return Value(false);
        left = std::move(right);
    }
    return Value(true);
}

Value Interpreter::node(const Logical& logical, int) {
    Value left = evaluate(*logical.left);
    return left.truth() == logical.is_and ? evaluate(*logical.right) : left;
}

Value Interpreter::node(const Conditional& conditional, int line) {
    if (evaluate(*conditional.condition).truth()) return evaluate(*conditional.yes);
    if (conditional.no) return evaluate(*conditional.no);
    return runtime_.undefined(
        text_of("the inline if-expression on line ", line, " evaluated to false and no else section was defined."));
}

Value Interpreter::node(const Concatenation& concatenation, int) {
    TextBuilder text(runtime_);
    for (const auto& part : concatenation.parts) append_str(text, evaluate(*part));
    return text.value();
}

}  // namespace tessera::jinja
