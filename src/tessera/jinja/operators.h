// Arithmetic as in Python, in 64 bits: an integer past them is an error.
#pragma once

#include "tessera/jinja/value.h"

namespace tessera::jinja {

enum class Operator : std::uint8_t { Add, Subtract, Multiply, Divide, FloorDivide, Modulo, Power };

Value apply(Runtime& runtime, Operator op, const Value& a, const Value& b);
Value negate(const Value& value);
Value posit(const Value& value);  // unary +

std::string escape_html(Runtime& runtime, std::string_view text);

}  // namespace tessera::jinja
