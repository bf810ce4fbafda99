// Expressions by their operators, from the weakest binding to the strongest: a if b else c; or; and; not; comparisons;
// + -; ~; * / // %; **; unary - and +. What they stand between is in primary_parser.cpp.
#include <algorithm>

#include "tessera/jinja/make_expression.h"
#include "tessera/jinja/parser.h"

namespace tessera::jinja {
namespace {

ExpressionPointer binary(int line, Operator op, ExpressionPointer left, ExpressionPointer right) {
    const int depth = std::max(depth_of(left), depth_of(right));
    return make(line, Binary{op, std::move(left), std::move(right)}, depth);
}

}  // namespace

bool ExpressionParser::tuple_ends(std::string_view end) const {
    const Token& token = stream_.current();
    return token.is(TokenKind::VariableEnd) || token.is(TokenKind::BlockEnd) || token.is_symbol(")") ||
           (!end.empty() && token.is_name(end));
}

ExpressionPointer ExpressionParser::tuple(bool with_condition, std::string_view end) {
    const int line = stream_.current().line;
    std::vector<ExpressionPointer> items;
    bool is_tuple = false;
    while (!tuple_ends(end)) {
        items.push_back(expression(with_condition));
        if (!stream_.skip_symbol(",")) break;
        is_tuple = true;
    }
    if (is_tuple) {
        const int depth = depth_of(items);
        return make(line, ListDisplay{std::move(items), SequenceKind::Tuple}, depth);
    }
    if (items.empty()) stream_.fail_here("expected an expression");
    return std::move(items[0]);
}

ExpressionPointer ExpressionParser::expression(bool with_condition) {
    const Deeper deeper(stream_);
    return with_condition ? conditional() : logical_or();
}

ExpressionPointer ExpressionParser::conditional() {
    const int line = stream_.current().line;
    ExpressionPointer value = logical_or();
    while (stream_.skip_name("if")) {
        ++stream_.conditional;
        ExpressionPointer condition = logical_or(), no;
        if (stream_.skip_name("else")) {
            const Deeper deeper(stream_);
            no = conditional();
        }
        --stream_.conditional;
        const int depth = std::max({depth_of(condition), depth_of(value), depth_of(no)});
        value = make(line, Conditional{std::move(condition), std::move(value), std::move(no)}, depth);
    }
    return value;
}

ExpressionPointer ExpressionParser::logical_or() {
    const int line = stream_.current().line;
    ExpressionPointer left = logical_and();
    while (stream_.skip_name("or")) {
        ExpressionPointer right = logical_and();
        const int depth = std::max(depth_of(left), depth_of(right));
        left = make(line, Logical{false, std::move(left), std::move(right)}, depth);
    }
    return left;
}

ExpressionPointer ExpressionParser::logical_and() {
    const int line = stream_.current().line;
    ExpressionPointer left = negation();
    while (stream_.skip_name("and")) {
        ExpressionPointer right = negation();
        const int depth = std::max(depth_of(left), depth_of(right));
        left = make(line, Logical{true, std::move(left), std::move(right)}, depth);
    }
    return left;
}

ExpressionPointer ExpressionParser::negation() {
    const int line = stream_.current().line;
    if (!stream_.skip_name("not")) return comparison();
    const Deeper deeper(stream_);
    ExpressionPointer value = negation();
    const int depth = depth_of(value);
    return make(line, Unary{UnaryOperator::Not, std::move(value)}, depth);
}

ExpressionPointer ExpressionParser::comparison() {
    static constexpr std::pair<std::string_view, Relation> relations[] = {
        {"==", Relation::Equal},       {"!=", Relation::NotEqual}, {"<", Relation::Less},
        {"<=", Relation::LessOrEqual}, {">", Relation::Greater},   {">=", Relation::GreaterOrEqual},
    };
    const int line = stream_.current().line;
    ExpressionPointer first = sum();
    std::vector<std::pair<Relation, ExpressionPointer>> rest;
    int depth = depth_of(first);
    while (true) {
        std::optional<Relation> relation;
        for (const auto& [symbol, meaning] : relations)
            if (stream_.current().is_symbol(symbol)) relation = meaning;
        if (stream_.current().is_name("in")) relation = Relation::In;
        if (stream_.current().is_name("not") && stream_.following().is_name("in")) {
            relation = Relation::NotIn;
            stream_.next();
        }
        if (!relation) break;
        stream_.next();
        rest.emplace_back(*relation, sum());
        depth = std::max(depth, depth_of(rest.back().second));
    }
    if (rest.empty()) return first;
    return make(line, Comparison{std::move(first), std::move(rest)}, depth);
}

ExpressionPointer ExpressionParser::sum() {
    const int line = stream_.current().line;
    ExpressionPointer left = concatenation();
    while (stream_.current().is_symbol("+") || stream_.current().is_symbol("-")) {
        const Operator op = stream_.next().text == "+" ? Operator::Add : Operator::Subtract;
        left = binary(line, op, std::move(left), concatenation());
    }
    return left;
}

ExpressionPointer ExpressionParser::concatenation() {
    const int line = stream_.current().line;
    std::vector<ExpressionPointer> parts;
    parts.push_back(product());
    while (stream_.skip_symbol("~")) parts.push_back(product());
    if (parts.size() == 1) return std::move(parts[0]);
    const int depth = depth_of(parts);
    return make(line, Concatenation{std::move(parts)}, depth);
}

ExpressionPointer ExpressionParser::product() {
    static constexpr std::pair<std::string_view, Operator> operators[] = {
        {"*", Operator::Multiply}, {"/", Operator::Divide}, {"//", Operator::FloorDivide}, {"%", Operator::Modulo}};
    const int line = stream_.current().line;
    ExpressionPointer left = power();
    while (true) {
        const auto found = std::find_if(std::begin(operators), std::end(operators),
                                        [&](const auto& entry) { return stream_.current().is_symbol(entry.first); });
        if (found == std::end(operators)) return left;
        stream_.next();
        left = binary(line, found->second, std::move(left), power());
    }
}

ExpressionPointer ExpressionParser::power() {
    const int line = stream_.current().line;
    ExpressionPointer left = unary();
    while (stream_.skip_symbol("**")) left = binary(line, Operator::Power, std::move(left), unary());
    return left;
}

ExpressionPointer ExpressionParser::unary(bool with_filter) {
    const Deeper deeper(stream_);
    const int line = stream_.current().line;
    ExpressionPointer value;
    if (stream_.current().is_symbol("-") || stream_.current().is_symbol("+")) {
        const UnaryOperator op = stream_.next().text == "-" ? UnaryOperator::Negate : UnaryOperator::Plus;
        value = unary(false);
        const int depth = depth_of(value);
        value = make(line, Unary{op, std::move(value)}, depth);
    } else {
        value = primary();
    }
    value = postfix(std::move(value));
    return with_filter ? filtered(std::move(value)) : std::move(value);
}

}  // namespace tessera::jinja
