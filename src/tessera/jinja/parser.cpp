#include "tessera/jinja/parser.h"

#include <algorithm>

#include "tessera/core/error.h"
#include "tessera/jinja/limits.h"

namespace tessera::jinja {

Token TokenStream::next() {
    Token token = std::exchange(current_, std::move(following_));
    following_ = source_();
    return token;
}

bool TokenStream::skip_symbol(std::string_view symbol) {
    if (!current().is_symbol(symbol)) return false;
    next();
    return true;
}

bool TokenStream::skip_name(std::string_view name) {
    if (!current().is_name(name)) return false;
    next();
    return true;
}

void TokenStream::expect_symbol(std::string_view symbol) {
    if (!skip_symbol(symbol)) fail_here(text_of("expected '", symbol, "'"));
}

std::string TokenStream::expect_name() {
    if (!current().is(TokenKind::Name)) fail_here("expected a name");
    return next().text;
}

void TokenStream::fail_here(const std::string& what) const {
    const Token& token = current();
    std::string found;
    switch (token.kind) {
        case TokenKind::End: found = "the end of the template"; break;
        case TokenKind::VariableEnd: found = "'}}'"; break;
        case TokenKind::BlockEnd: found = "'%}'"; break;
        case TokenKind::String: found = "a string"; break;
        default: found = text_of("'", token.text, "'");
    }
    fail("line ", token.line, ": ", what, ", found ", found);
}

int TokenStream::number_of(const std::string& name) {
    const auto [place, is_new] = known_.try_emplace(name, Known{.number = static_cast<int>(names_.size())});
    if (is_new) names_.push_back(name);
    ++place->second.uses;
    return place->second.number;
}

int TokenStream::uses_of(const std::string& name) const {
    const auto found = known_.find(name);
    return found == known_.end() ? 0 : found->second.uses;
}

Deeper::Deeper(TokenStream& stream) : stream_(stream) {
    if (stream.depth >= most_syntax_depth) stream.fail_here("the template nests too deeply");
    ++stream_.depth;
}

Template parse(const std::string& source) {
    check(source.size() <= most_source, "the template has ", source.size(), " bytes, more than ", most_source);
    TokenStream stream(tokens_of(source));
    Body body = StatementParser(stream).body({});
    return {std::move(body), stream.take_names()};
}

}  // namespace tessera::jinja
