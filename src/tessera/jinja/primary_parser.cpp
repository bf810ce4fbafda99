// Operands of expressions: names, literals and brackets, with what follows them: . [] () | and is. And targets.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "tessera/jinja/make_expression.h"
#include "tessera/jinja/parser.h"

namespace tessera::jinja {

ExpressionPointer ExpressionParser::primary() {
    const Token& token = stream_.current();
    const int line = token.line;
    switch (token.kind) {
        case TokenKind::Name: {
            const std::string name = stream_.next().text;
            if (name == "true" || name == "True") return make(line, Literal{Value(true)}, 0);
            if (name == "false" || name == "False") return make(line, Literal{Value(false)}, 0);
            if (name == "none" || name == "None") return make(line, Literal{None{}}, 0);
            return make(line, Variable{stream_.number_of(name)}, 0);
        }
        case TokenKind::String: {
            std::string text;
            while (stream_.current().is(TokenKind::String)) text += stream_.next().text;
            return make(line, Literal{Value(std::move(text))}, 0);
        }
        case TokenKind::Integer:
        case TokenKind::Float: return number();
        default: break;
    }
    if (token.is_symbol("(")) return parenthesis();
    if (token.is_symbol("[")) return list();
    if (token.is_symbol("{")) return dictionary();
    stream_.fail_here("expected an expression");
}

ExpressionPointer ExpressionParser::number() {
    const Token token = stream_.next();
    std::string digits;
    std::copy_if(token.text.begin(), token.text.end(), std::back_inserter(digits), [](char c) { return c != '_'; });
    if (token.is(TokenKind::Float)) {
        double number = 0;
        const auto [_, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (error == std::errc::result_out_of_range) number = std::strtod(digits.c_str(), nullptr);
        return make(token.line, Literal{Value(number)}, 0);
    }
    int base = 10;
    std::size_t begin = 0;
    if (digits.size() > 1 && digits[0] == '0' && !(digits[1] >= '0' && digits[1] <= '9')) {
        const char letter = static_cast<char>(digits[1] | 0x20);
        base = letter == 'x' ? 16 : letter == 'o' ? 8 : 2;
        begin = 2;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data() + begin, digits.data() + digits.size(), number, base);
    if (error != std::errc() || end != digits.data() + digits.size())
        fail("line ", token.line, ": '", token.text, "' is no integer of 64 bits");
    return make(token.line, Literal{Value(number)}, 0);
}

ExpressionPointer ExpressionParser::parenthesis() {
    const int line = stream_.next().line;
    if (stream_.skip_symbol(")")) return make(line, ListDisplay{{}, SequenceKind::Tuple}, 0);
    ExpressionPointer value = tuple();
    stream_.expect_symbol(")");
    return value;
}

ExpressionPointer ExpressionParser::list() {
    const int line = stream_.next().line;
    std::vector<ExpressionPointer> items;
    while (!stream_.current().is_symbol("]")) {
        if (!items.empty()) stream_.expect_symbol(",");
        if (stream_.current().is_symbol("]")) break;
        items.push_back(expression());
    }
    stream_.expect_symbol("]");
    const int depth = depth_of(items);
    return make(line, ListDisplay{std::move(items), SequenceKind::List}, depth);
}

ExpressionPointer ExpressionParser::dictionary() {
    const int line = stream_.next().line;
    std::vector<std::pair<ExpressionPointer, ExpressionPointer>> entries;
    int depth = 0;
    while (!stream_.current().is_symbol("}")) {
        if (!entries.empty()) stream_.expect_symbol(",");
        if (stream_.current().is_symbol("}")) break;
        ExpressionPointer key = expression();
        stream_.expect_symbol(":");
        entries.emplace_back(std::move(key), expression());
        depth = std::max({depth, depth_of(entries.back().first), depth_of(entries.back().second)});
    }
    stream_.expect_symbol("}");
    return make(line, DictionaryDisplay{std::move(entries)}, depth);
}

ExpressionPointer ExpressionParser::postfix(ExpressionPointer value) {
    while (true) {
        if (stream_.current().is_symbol(".") || stream_.current().is_symbol("[")) {
            value = subscript(std::move(value));
        } else if (stream_.current().is_symbol("(")) {
            const int line = stream_.current().line;
            CallArguments given = arguments();
            const int depth = std::max(depth_of(value), depth_of(given));
            value = make(line, Call{std::move(value), std::move(given)}, depth);
        } else {
            return value;
        }
    }
}

ExpressionPointer ExpressionParser::filtered(ExpressionPointer value) {
    while (true) {
        const int line = stream_.current().line;
        if (stream_.skip_symbol("|")) {
            FilterCall call = filter_call();
            const int depth = std::max(depth_of(value), depth_of(call.arguments));
            value = make(line, Filtered{std::move(value), std::move(call)}, depth);
        } else if (stream_.skip_name("is")) {
            value = test(std::move(value));
        } else if (stream_.current().is_symbol("(")) {
            CallArguments given = arguments();
            const int depth = std::max(depth_of(value), depth_of(given));
            value = make(line, Call{std::move(value), std::move(given)}, depth);
        } else {
            return value;
        }
    }
}

ExpressionPointer ExpressionParser::subscript(ExpressionPointer value) {
    const Token token = stream_.next();
    const int line = token.line;
    if (token.is_symbol(".")) {
        const int depth = depth_of(value);
        if (stream_.current().is(TokenKind::Name))
            return make(line, Attribute{std::move(value), stream_.next().text}, depth);
        if (!stream_.current().is(TokenKind::Integer)) stream_.fail_here("expected a name or a number");
        return make(line, Subscript{std::move(value), number()}, depth);
    }
    if (stream_.current().is_symbol("]")) stream_.fail_here("expected a subscript");
    const auto at_end = [&] { return stream_.current().is_symbol("]") || stream_.current().is_symbol(":"); };
    ExpressionPointer start, stop, step;
    bool is_slice = false;
    if (!at_end()) start = expression();
    if (stream_.skip_symbol(":")) {
        is_slice = true;
        if (!at_end()) stop = expression();
        if (stream_.skip_symbol(":") && !at_end()) step = expression();
    }
    int depth = std::max({depth_of(value), depth_of(start), depth_of(stop), depth_of(step)});
    if (!is_slice && stream_.current().is_symbol(",")) {  // a tuple as key
        std::vector<ExpressionPointer> parts;
        parts.push_back(std::move(start));
        while (stream_.skip_symbol(",")) parts.push_back(expression());
        depth = std::max(depth, depth_of(parts) + 1);
        start = make(line, ListDisplay{std::move(parts), SequenceKind::Tuple}, depth);
    }
    stream_.expect_symbol("]");
    if (is_slice) return make(line, Slice{std::move(value), std::move(start), std::move(stop), std::move(step)}, depth);
    return make(line, Subscript{std::move(value), std::move(start)}, depth);
}

ExpressionPointer ExpressionParser::test(ExpressionPointer value) {
    const int line = stream_.current().line;
    const bool negated = stream_.skip_name("not");
    std::string name = stream_.expect_name();
    while (stream_.skip_symbol(".")) name += text_of(".", stream_.expect_name());
    CallArguments given;
    const Token& token = stream_.current();
    const bool is_primary = token.is(TokenKind::Name) || token.is(TokenKind::String) || token.is(TokenKind::Integer) ||
                            token.is(TokenKind::Float) || token.is_symbol("[") || token.is_symbol("{");
    if (token.is_symbol("(")) {
        given = arguments();
    } else if (is_primary && !token.is_name("else") && !token.is_name("or") && !token.is_name("and")) {
        if (token.is_name("is")) stream_.fail_here("tests with 'is' cannot be chained");
        given.positional.push_back(postfix(primary()));
    }
    const Predicate predicate = find_predicate(name);
    if (!predicate && !stream_.conditional) fail("line ", line, ": unknown test '", name, "'");
    int depth = std::max(depth_of(value), depth_of(given));
    value = make(line, Tested{std::move(value), std::move(name), predicate, std::move(given)}, depth++);
    if (!negated) return value;
    return make(line, Unary{UnaryOperator::Not, std::move(value)}, depth);
}

FilterCall ExpressionParser::filter_call() {
    const int line = stream_.current().line;
    std::string name = stream_.expect_name();
    while (stream_.skip_symbol(".")) name += text_of(".", stream_.expect_name());
    const Filter filter = find_filter(name);
    if (!filter && !stream_.conditional) fail("line ", line, ": unknown filter '", name, "'");
    CallArguments given;
    if (stream_.current().is_symbol("(")) given = arguments();
    return {std::move(name), filter, std::move(given), line};
}

std::vector<FilterCall> ExpressionParser::filters(bool first_without_bar) {
    std::vector<FilterCall> calls;
    if (first_without_bar) calls.push_back(filter_call());
    while (stream_.skip_symbol("|")) calls.push_back(filter_call());
    return calls;
}

CallArguments ExpressionParser::arguments() {
    CallArguments given;
    stream_.expect_symbol("(");
    bool first = true;
    while (!stream_.current().is_symbol(")")) {
        if (!first) stream_.expect_symbol(",");
        if (!first && stream_.current().is_symbol(")")) break;
        first = false;
        if (stream_.skip_symbol("*")) {
            if (given.more || given.more_named) stream_.fail_here("invalid arguments");
            given.more = expression();
        } else if (stream_.skip_symbol("**")) {
            if (given.more_named) stream_.fail_here("invalid arguments");
            given.more_named = expression();
        } else if (stream_.current().is(TokenKind::Name) && stream_.following().is_symbol("=")) {
            if (given.more_named) stream_.fail_here("invalid arguments");
            std::string name = stream_.next().text;
            stream_.next();
            given.named.emplace_back(std::move(name), expression());
        } else {
            if (given.more || given.more_named || !given.named.empty())
                stream_.fail_here("an argument without a name after named ones");
            given.positional.push_back(expression());
        }
    }
    stream_.expect_symbol(")");
    return given;
}

std::vector<Parameter> ExpressionParser::parameters() {
    std::vector<Parameter> all;
    stream_.expect_symbol("(");
    while (!stream_.current().is_symbol(")")) {
        if (!all.empty()) stream_.expect_symbol(",");
        if (!all.empty() && stream_.current().is_symbol(")")) break;
        std::string name = stream_.expect_name();
        ExpressionPointer fallback;
        if (stream_.skip_symbol("="))
            fallback = expression();
        else if (!all.empty() && all.back().fallback)
            stream_.fail_here("a parameter without a default after one that has it");
        const int number = stream_.number_of(name);
        all.push_back({number, std::move(name), std::move(fallback)});
    }
    stream_.expect_symbol(")");
    return all;
}

Target ExpressionParser::single_target(bool with_attribute) {
    const Deeper deeper(stream_);
    if (stream_.skip_symbol("(")) {
        Target inner = target(with_attribute);
        stream_.expect_symbol(")");
        return inner;
    }
    const std::string name = stream_.expect_name();
    for (const std::string_view constant : {"true", "True", "false", "False", "none", "None"})
        if (name == constant) stream_.fail_here(text_of("cannot assign to '", name, "'"));
    Target result{.name = stream_.number_of(name)};
    if (with_attribute && stream_.skip_symbol(".")) {
        result.kind = Target::Kind::Attribute;
        result.attribute = stream_.expect_name();
    }
    return result;
}

Target ExpressionParser::target(bool with_attribute, std::string_view end) {
    Target first = single_target(with_attribute);
    if (!stream_.current().is_symbol(",")) return first;
    Target all{.kind = Target::Kind::Several};
    all.parts.push_back(std::move(first));
    while (stream_.skip_symbol(",")) {
        if (stream_.current().is_symbol("=") || tuple_ends(end)) break;
        all.parts.push_back(single_target(with_attribute));
    }
    return all;
}

}  // namespace tessera::jinja
