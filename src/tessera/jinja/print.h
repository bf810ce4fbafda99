// A value as text, as Python's str() and repr() write it.
#pragma once

#include <string>

#include "tessera/jinja/value.h"

namespace tessera::jinja {

class TextBuilder;

Value str(Runtime& runtime, const Value& value);  // a text; the value itself where it is one
Value repr(Runtime& runtime, const Value& value);
void append_str(TextBuilder& out, const Value& value);
std::string float_text(double number);  // the shortest that reads back the same: 1.0, 1e-07, inf

}  // namespace tessera::jinja
