// Text, {{ … }} and {% … %}.
#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/jinja/parser.h"

namespace tessera::jinja {

Body StatementParser::body(const std::vector<std::string_view>& ends) {
    const Deeper deeper(stream_);
    Body result;
    while (!stream_.current().is(TokenKind::End)) {
        const Token token = stream_.next();
        if (token.is(TokenKind::Data)) {
            result.push_back({Data{token.text}, token.line});
        } else if (token.is(TokenKind::VariableBegin)) {
            result.push_back({Print{expressions_.tuple()}, token.line});
            if (!stream_.current().is(TokenKind::VariableEnd)) stream_.fail_here("expected '}}'");
            stream_.next();
        } else {
            if (!stream_.current().is(TokenKind::Name)) stream_.fail_here("expected a tag's name");
            const std::string& name = stream_.current().text;
            if (std::find(ends.begin(), ends.end(), name) != ends.end()) return result;
            statement(result);
            if (!stream_.current().is(TokenKind::BlockEnd)) stream_.fail_here("expected '%}'");
            stream_.next();
        }
    }
    if (!ends.empty()) stream_.fail_here(text_of("expected {% ", ends.back(), " %}"));
    return result;
}

void StatementParser::statement(Body& body) {
    const int line = stream_.current().line;
    const std::string tag = stream_.next().text;
    const auto add = [&](auto node) { body.push_back({std::move(node), line}); };
    if (tag == "if") return add(parse_if());
    if (tag == "for") return add(parse_for());
    if (tag == "set") return std::visit(add, parse_set());
    if (tag == "macro") return add(parse_macro());
    if (tag == "call") return add(parse_call());
    if (tag == "filter") return add(parse_filter());
    if (tag == "with") return add(parse_with());
    if (tag == "print") return add(Print{expressions_.tuple()});
    // What the assistant wrote is marked for training; the text is the same.
    if (tag == "generation") return add(With{{}, last_block("endgeneration")});
    if (tag == "break" || tag == "continue") {
        if (loops_ == 0) fail("line ", line, ": '", tag, "' outside a loop");
        return tag == "break" ? add(Break{}) : add(Continue{});
    }
    fail("line ", line, ": unknown tag '", tag, "'");
}

Body StatementParser::block(const std::vector<std::string_view>& ends) {
    stream_.skip_symbol(":");
    if (!stream_.current().is(TokenKind::BlockEnd)) stream_.fail_here("expected '%}'");
    stream_.next();
    return body(ends);
}

Body StatementParser::last_block(std::string_view end) {
    Body result = block({end});
    stream_.next();
    return result;
}

If StatementParser::parse_if() {
    If result;
    ++stream_.conditional;
    while (true) {
        ExpressionPointer condition = expressions_.tuple(false);
        result.branches.emplace_back(std::move(condition), block({"elif", "else", "endif"}));
        const Token tag = stream_.next();
        if (tag.is_name("elif")) continue;
        if (tag.is_name("else")) result.otherwise = last_block("endif");
        break;
    }
    --stream_.conditional;
    return result;
}

For StatementParser::parse_for() {
    For result{};
    result.target = expressions_.target(false, "in");
    if (!stream_.skip_name("in")) stream_.fail_here("expected 'in'");
    result.items = expressions_.tuple(false, "recursive");
    if (stream_.skip_name("if")) result.test = expressions_.expression();
    result.recursive = stream_.skip_name("recursive");
    result.loop = stream_.number_of("loop");
    ++loops_;
    result.body = block({"else", "endfor"});
    --loops_;
    if (stream_.next().text == "else") result.otherwise = last_block("endfor");
    return result;
}

std::variant<Set, SetBlock> StatementParser::parse_set() {
    Target target = expressions_.target(true);
    if (stream_.skip_symbol("=")) return Set{std::move(target), expressions_.tuple()};
    std::vector<FilterCall> filters = expressions_.filters(false);
    return SetBlock{std::move(target), std::move(filters), last_block("endset")};
}

std::shared_ptr<const MacroBody> StatementParser::macro_body(std::string name, std::vector<Parameter> parameters,
                                                             std::string_view end) {
    MacroBody macro{.name = std::move(name), .parameters = std::move(parameters), .body = {}};
    const std::pair<const char*, int*> extras[] = {
        {"varargs", &macro.varargs}, {"kwargs", &macro.kwargs}, {"caller", &macro.caller}};
    int before[3] = {};
    for (std::size_t i = 0; i < 3; ++i) before[i] = stream_.uses_of(extras[i].first);
    const int loops = std::exchange(loops_, 0);
    macro.body = last_block(end);
    loops_ = loops;
    for (std::size_t i = 0; i < 3; ++i)
        if (stream_.uses_of(extras[i].first) > before[i]) *extras[i].second = stream_.number_of(extras[i].first);
    return std::make_shared<const MacroBody>(std::move(macro));
}

Macro StatementParser::parse_macro() {
    const std::string name = stream_.expect_name();
    const int number = stream_.number_of(name);
    std::vector<Parameter> parameters = expressions_.parameters();
    return {number, macro_body(name, std::move(parameters), "endmacro")};
}

CallBlock StatementParser::parse_call() {
    std::vector<Parameter> parameters;
    if (stream_.current().is_symbol("(")) parameters = expressions_.parameters();
    ExpressionPointer call = expressions_.expression();
    if (!std::holds_alternative<Call>(call->node)) fail("line ", call->line, ": {% call %} expects a call");
    return {std::move(call), macro_body("caller", std::move(parameters), "endcall")};
}

FilterBlock StatementParser::parse_filter() {
    std::vector<FilterCall> filters = expressions_.filters(true);
    return {std::move(filters), last_block("endfilter")};
}

With StatementParser::parse_with() {
    With result;
    while (!stream_.current().is(TokenKind::BlockEnd)) {
        if (!result.values.empty()) stream_.expect_symbol(",");
        Target target = expressions_.target(false);
        stream_.expect_symbol("=");
        result.values.emplace_back(std::move(target), expressions_.expression());
    }
    result.body = last_block("endwith");
    return result;
}

}  // namespace tessera::jinja
