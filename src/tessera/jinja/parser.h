// Tokens to syntax, by recursive descent with the reference's precedence.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/jinja/lexer.h"
#include "tessera/jinja/syntax.h"

namespace tessera::jinja {

Template parse(const std::string& source);  // throws "line N: …"

// The tokens and the names, for both halves of the parser.
class TokenStream {
   public:
    explicit TokenStream(std::function<Token()> source)
        : source_(std::move(source)), current_(source_()), following_(source_()) {}

    const Token& current() const { return current_; }
    const Token& following() const { return following_; }
    Token next();  // the current one, and goes on
    bool skip_symbol(std::string_view symbol);
    bool skip_name(std::string_view name);
    void expect_symbol(std::string_view symbol);
    std::string expect_name();
    [[noreturn]] void fail_here(const std::string& what) const;

    int number_of(const std::string& name);
    int uses_of(const std::string& name) const;  // so far
    std::vector<std::string> take_names() { return std::move(names_); }

    int depth = 0;  // of the parser's own recursion
    // Within an `if` an unknown filter is an error only where it is reached, as in the reference.
    int conditional = 0;

   private:
    std::function<Token()> source_;
    Token current_, following_;
    std::vector<std::string> names_;
    struct Known {
        int number = 0, uses = 0;
    };
    std::map<std::string, Known> known_;
};

class Deeper {
   public:
    explicit Deeper(TokenStream& stream);
    ~Deeper() { --stream_.depth; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    TokenStream& stream_;
};

class ExpressionParser {
   public:
    explicit ExpressionParser(TokenStream& stream) : stream_(stream) {}

    // One value, or several with commas between: a tuple. `end` is a name that ends it, too.
    ExpressionPointer tuple(bool with_condition = true, std::string_view end = {});
    ExpressionPointer expression(bool with_condition = true);
    Target target(bool with_attribute, std::string_view end = {});
    std::vector<FilterCall> filters(bool first_without_bar);  // a|b(c)|d
    CallArguments arguments();                                // from the '(' on
    std::vector<Parameter> parameters();                      // from the '(' on

   private:
    ExpressionPointer conditional();
    ExpressionPointer logical_or();
    ExpressionPointer logical_and();
    ExpressionPointer negation();
    ExpressionPointer comparison();
    ExpressionPointer sum();
    ExpressionPointer concatenation();
    ExpressionPointer product();
    ExpressionPointer power();
    ExpressionPointer unary(bool with_filter = true);
    ExpressionPointer primary();
    ExpressionPointer parenthesis();
    ExpressionPointer list();
    ExpressionPointer dictionary();
    ExpressionPointer number();
    ExpressionPointer postfix(ExpressionPointer value);
    ExpressionPointer filtered(ExpressionPointer value);
    ExpressionPointer subscript(ExpressionPointer value);
    ExpressionPointer test(ExpressionPointer value);
    FilterCall filter_call();
    Target single_target(bool with_attribute);
    bool tuple_ends(std::string_view end) const;

    TokenStream& stream_;
};

class StatementParser {
   public:
    explicit StatementParser(TokenStream& stream) : stream_(stream), expressions_(stream) {}

    Body body(const std::vector<std::string_view>& ends);  // up to a tag that ends it, which stays

   private:
    void statement(Body& body);
    Body block(const std::vector<std::string_view>& ends);  // from the tag's end on, as body
    Body last_block(std::string_view end);                  // and past the ending tag's name
    If parse_if();
    For parse_for();
    std::variant<Set, SetBlock> parse_set();
    Macro parse_macro();
    CallBlock parse_call();
    FilterBlock parse_filter();
    With parse_with();
    std::shared_ptr<const MacroBody> macro_body(std::string name, std::vector<Parameter> parameters,
                                                std::string_view end);

    TokenStream& stream_;
    ExpressionParser expressions_;
    int loops_ = 0;  // around the statement, within the same macro
};

}  // namespace tessera::jinja
