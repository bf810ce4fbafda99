// The syntax tree of a template: expressions and statements. Names are numbers: the place in the template's list of
// names.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/jinja/filters.h"
#include "tessera/jinja/operators.h"
#include "tessera/jinja/predicates.h"
#include "tessera/jinja/value.h"

namespace tessera::jinja {

struct Expression;
using ExpressionPointer = std::unique_ptr<Expression>;

struct CallArguments {
    std::vector<ExpressionPointer> positional = {};
    std::vector<std::pair<std::string, ExpressionPointer>> named = {};
    ExpressionPointer more = {};        // *list
    ExpressionPointer more_named = {};  // **dict
};

struct FilterCall {
    std::string name;
    Filter filter;  // null: unknown, and an error only if it is reached
    CallArguments arguments;
    int line;
};

struct Literal {
    Value value;
};
struct Variable {
    int name;
};
struct ListDisplay {
    std::vector<ExpressionPointer> items;
    SequenceKind kind;
};
struct DictionaryDisplay {
    std::vector<std::pair<ExpressionPointer, ExpressionPointer>> entries;
};
struct Attribute {
    ExpressionPointer object;
    std::string name;
};
struct Subscript {
    ExpressionPointer object, key;
};
struct Slice {
    ExpressionPointer object, start, stop, step;  // all but the object may be missing
};
struct Call {
    ExpressionPointer function;
    CallArguments arguments;
};
struct Filtered {
    ExpressionPointer input;
    FilterCall call;
};
struct Tested {
    ExpressionPointer value;
    std::string name;
    Predicate predicate;  // null: unknown, and an error only if it is reached
    CallArguments arguments;
};
enum class UnaryOperator : std::uint8_t { Not, Negate, Plus };
struct Unary {
    UnaryOperator op;
    ExpressionPointer value;
};
struct Binary {
    Operator op;
    ExpressionPointer left, right;
};
enum class Relation : std::uint8_t { Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual, In, NotIn };
struct Comparison {
    ExpressionPointer first;
    std::vector<std::pair<Relation, ExpressionPointer>> rest;  // a < b < c
};
struct Logical {
    bool is_and;
    ExpressionPointer left, right;
};
struct Conditional {
    ExpressionPointer condition, yes, no;  // no may be missing
};
struct Concatenation {
    std::vector<ExpressionPointer> parts;  // a ~ b
};

struct Expression {
    std::variant<Literal, Variable, ListDisplay, DictionaryDisplay, Attribute, Subscript, Slice, Call, Filtered, Tested,
                 Unary, Binary, Comparison, Logical, Conditional, Concatenation>
        node;
    int line;
    int depth;  // of expressions within
};

// What can stand left of '=': a name, a namespace's attribute, or several of these.
struct Target {
    enum class Kind : std::uint8_t { Name, Attribute, Several } kind = Kind::Name;
    int name = 0;
    std::string attribute = {};
    std::vector<Target> parts = {};
};

struct Statement;
using Body = std::vector<Statement>;

struct Parameter {
    int name;
    std::string text;
    ExpressionPointer fallback;  // may be missing
};
struct MacroBody {
    std::string name;
    std::vector<Parameter> parameters;
    Body body;
    // Whether the body names them; -1: it does not.
    int varargs = -1, kwargs = -1, caller = -1;
};

struct Data {
    std::string text;
};
struct Print {
    ExpressionPointer value;
};
struct If {
    std::vector<std::pair<ExpressionPointer, Body>> branches;
    Body otherwise;
};
struct For {
    Target target;
    ExpressionPointer items, test;  // test may be missing
    Body body, otherwise;
    int loop;  // the number of the name `loop`
    bool recursive;
};
struct Set {
    Target target;
    ExpressionPointer value;
};
struct SetBlock {
    Target target;
    std::vector<FilterCall> filters;
    Body body;
};
struct Macro {
    int name;
    std::shared_ptr<const MacroBody> macro;
};
struct CallBlock {
    ExpressionPointer call;  // a Call
    std::shared_ptr<const MacroBody> caller;
};
struct FilterBlock {
    std::vector<FilterCall> filters;
    Body body;
};
struct With {
    std::vector<std::pair<Target, ExpressionPointer>> values;
    Body body;
};
struct Break {};
struct Continue {};

struct Statement {
    std::variant<Data, Print, If, For, Set, SetBlock, Macro, CallBlock, FilterBlock, With, Break, Continue> node;
    int line;
};

struct Template {
    Body body;
    std::vector<std::string> names;
};

}  // namespace tessera::jinja
