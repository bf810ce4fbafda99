// A value as text, as Python's str() and repr() write it.
#pragma once

#include <string>

#include "tokenizers/jinja/value.h"

namespace tessera::tokenizers::jinja {

std::string str(Runtime& runtime, const Value& value);
std::string repr(Runtime& runtime, const Value& value);
std::string float_text(double number);  // the shortest that reads back the same: 1.0, 1e-07, inf

}  // namespace tessera::tokenizers::jinja
