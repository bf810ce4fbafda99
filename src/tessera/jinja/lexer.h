// A template's source to tokens, with the white-space rules that chat templates are rendered under: trim_blocks (the
// line end after a block tag goes), lstrip_blocks (so does the indentation before one that begins its line), '-' and
// '+' at a tag's edges, and one line end at the end of the source.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tessera::jinja {

enum class TokenKind : std::uint8_t {
    Data,  // text outside tags
    VariableBegin,
    VariableEnd,
    BlockBegin,
    BlockEnd,
    Name,
    String,  // its value
    Integer,
    Float,
    Symbol,  // an operator or a bracket
    End,
};

struct Token {
    TokenKind kind = TokenKind::End;
    std::string text = {};
    int line = 1;

    bool is(TokenKind wanted) const { return kind == wanted; }
    bool is_symbol(std::string_view symbol) const { return kind == TokenKind::Symbol && text == symbol; }
    bool is_name(std::string_view name) const { return kind == TokenKind::Name && text == name; }
};

// Gives one token after the other, at the end End for ever. Throws "line N: …".
std::function<Token()> tokens_of(const std::string& source);

}  // namespace tessera::jinja
