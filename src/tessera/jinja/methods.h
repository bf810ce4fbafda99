// The methods of Python's str, list, tuple and dict that change nothing.
#pragma once

#include "tessera/jinja/value.h"

namespace tessera::jinja {

using Method = Value (*)(Runtime& runtime, const Value& self, const Arguments& arguments);

Method find_method(const Value& self, std::string_view name);  // null where there is none
bool is_changing_method(std::string_view name);                // of dict: the sandbox forbids it

Method find_text_method(std::string_view name);
Method find_string_test(std::string_view name);  // isdigit and such
Method find_dictionary_method(std::string_view name);
Method find_sequence_method(std::string_view name);

// Python's str.splitlines: at every kind of line end.
std::vector<std::string_view> lines_of(Runtime& runtime, std::string_view text, bool keep_ends = false);
Value replaced(Runtime& runtime, std::string_view text, std::string_view old, std::string_view by,
               std::int64_t most = -1);

}  // namespace tessera::jinja
