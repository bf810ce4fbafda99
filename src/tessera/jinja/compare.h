// Equality, order and membership as in Python.
#pragma once

#include "tessera/jinja/value.h"

namespace tessera::jinja {

bool equal(Runtime& runtime, const Value& a, const Value& b);
// Throws where Python knows no order between the two. `symbol` is what the error names.
bool less(Runtime& runtime, const Value& a, const Value& b, std::string_view symbol = "<");
bool less_or_equal(Runtime& runtime, const Value& a, const Value& b, std::string_view symbol = "<=");
bool contains(Runtime& runtime, const Value& container, const Value& item);

// What an iteration over the value gives; an iterator is used up. Throws where Python cannot iterate.
std::vector<Value> items_of(Runtime& runtime, const Value& value);
std::int64_t size_of(Runtime& runtime, const Value& value);  // Python's len()

}  // namespace tessera::jinja
