#include "tessera/jinja/predicates.h"

#include <cmath>
#include <map>

#include "tessera/jinja/compare.h"
#include "tessera/jinja/filters.h"
#include "tessera/jinja/given.h"
#include "tessera/jinja/methods.h"
#include "tessera/jinja/operators.h"
#include "tessera/jinja/print.h"
#include "tessera/jinja/runtime.h"

namespace tessera::jinja {
namespace {

// A test without arguments, by a question about the value alone.
template <bool (*question)(const Value&)>
bool plain(Runtime&, const Value& value, const Arguments& arguments) {
    const BoundArguments given(arguments, "is …", {});
    return question(value);
}

bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_boolean(const Value& value) { return value.is_boolean(); }
bool is_true(const Value& value) { return value.is_boolean() && value.boolean(); }
bool is_false(const Value& value) { return value.is_boolean() && !value.boolean(); }
bool is_integer(const Value& value) { return value.is_integer(); }
bool is_float(const Value& value) { return value.is_float(); }
bool is_number(const Value& value) { return value.is_number(); }
bool is_string(const Value& value) { return value.is_text(); }
bool is_mapping(const Value& value) { return value.is_dictionary(); }
bool is_iterable(const Value& value) {
    return value.is_undefined() || value.is_text() || value.is_sequence() || value.is_dictionary() || value.is_loop();
}
bool is_sequence(const Value& value) {
    return value.is_undefined() || value.is_text() || value.is_dictionary() || value.is_sequence(SequenceKind::List) ||
           value.is_sequence(SequenceKind::Tuple) || value.is_sequence(SequenceKind::Range);
}
bool is_callable(const Value& value) { return value.is_undefined() || value.is_callable() || value.is_loop(); }
bool is_escaped(const Value& value) { return value.is_safe(); }

bool divides(Runtime& runtime, const Value& value, const Value& divisor) {
    return apply(runtime, Operator::Modulo, value, divisor).number() == 0;
}
void check_number(const Value& value) {
    check_defined(value);
    check(value.is_number(), "expected a number, found ", value.type_name());
}

bool odd(Runtime& runtime, const Value& value, const Arguments& arguments) {
    const BoundArguments given(arguments, "odd", {});
    check_number(value);
    return apply(runtime, Operator::Modulo, value, Value(std::int64_t{2})).number() == 1;
}
bool even(Runtime& runtime, const Value& value, const Arguments& arguments) {
    const BoundArguments given(arguments, "even", {});
    check_number(value);
    return divides(runtime, value, Value(std::int64_t{2}));
}
bool divisible_by(Runtime& runtime, const Value& value, const Arguments& arguments) {
    const BoundArguments given(arguments, "divisibleby", {"num"}, 1);
    check_number(value);
    check_number(*given.find(0));
    return divides(runtime, value, *given.find(0));
}

bool equal_to(Runtime& runtime, const Value& value, const Arguments& arguments) {
    return equal(runtime, value, *BoundArguments(arguments, "eq", {"b"}, 1).find(0));
}
bool not_equal_to(Runtime& runtime, const Value& value, const Arguments& arguments) {
    return !equal(runtime, value, *BoundArguments(arguments, "ne", {"b"}, 1).find(0));
}
bool less_than(Runtime& runtime, const Value& value, const Arguments& arguments) {
    return less(runtime, value, *BoundArguments(arguments, "lt", {"b"}, 1).find(0));
}
bool at_most(Runtime& runtime, const Value& value, const Arguments& arguments) {
    return less_or_equal(runtime, value, *BoundArguments(arguments, "le", {"b"}, 1).find(0));
}
bool greater_than(Runtime& runtime, const Value& value, const Arguments& arguments) {
    return less(runtime, *BoundArguments(arguments, "gt", {"b"}, 1).find(0), value, ">");
}
bool at_least(Runtime& runtime, const Value& value, const Arguments& arguments) {
    return less_or_equal(runtime, *BoundArguments(arguments, "ge", {"b"}, 1).find(0), value, ">=");
}
bool is_in(Runtime& runtime, const Value& value, const Arguments& arguments) {
    return contains(runtime, *BoundArguments(arguments, "in", {"seq"}, 1).find(0), value);
}
bool same_as(Runtime&, const Value& value, const Arguments& arguments) {
    return value.same_as(*BoundArguments(arguments, "sameas", {"other"}, 1).find(0));
}

bool ask(Runtime& runtime, const Value& value, std::string_view question) {
    return find_string_test(question)(runtime, str(runtime, value), {}).boolean();
}
bool lower_case(Runtime& runtime, const Value& value, const Arguments& arguments) {
    const BoundArguments given(arguments, "lower", {});
    return ask(runtime, value, "islower");
}
bool upper_case(Runtime& runtime, const Value& value, const Arguments& arguments) {
    const BoundArguments given(arguments, "upper", {});
    return ask(runtime, value, "isupper");
}

bool names_filter(Runtime&, const Value& value, const Arguments& arguments) {
    const BoundArguments given(arguments, "filter", {});
    return value.is_text() && find_filter(value.text()) != nullptr;
}
bool names_test(Runtime&, const Value& value, const Arguments& arguments) {
    const BoundArguments given(arguments, "test", {});
    return value.is_text() && find_predicate(value.text()) != nullptr;
}

}  // namespace

Predicate find_predicate(std::string_view name) {
    static const std::map<std::string_view, Predicate> predicates = {
        {"defined", plain<is_defined>},
        {"undefined", plain<is_undefined>},
        {"none", plain<is_none>},
        {"boolean", plain<is_boolean>},
        {"true", plain<is_true>},
        {"false", plain<is_false>},
        {"integer", plain<is_integer>},
        {"float", plain<is_float>},
        {"number", plain<is_number>},
        {"string", plain<is_string>},
        {"mapping", plain<is_mapping>},
        {"iterable", plain<is_iterable>},
        {"sequence", plain<is_sequence>},
        {"callable", plain<is_callable>},
        {"escaped", plain<is_escaped>},
        {"odd", odd},
        {"even", even},
        {"divisibleby", divisible_by},
        {"==", equal_to},
        {"eq", equal_to},
        {"equalto", equal_to},
        {"!=", not_equal_to},
        {"ne", not_equal_to},
        {"<", less_than},
        {"lt", less_than},
        {"lessthan", less_than},
        {"<=", at_most},
        {"le", at_most},
        {">", greater_than},
        {"gt", greater_than},
        {"greaterthan", greater_than},
        {">=", at_least},
        {"ge", at_least},
        {"in", is_in},
        {"sameas", same_as},
        {"lower", lower_case},
        {"upper", upper_case},
        {"filter", names_filter},
        {"test", names_test},
    };
    const auto found = predicates.find(name);
    return found == predicates.end() ? nullptr : found->second;
}

}  // namespace tessera::jinja
