// The methods of Python's str, list, tuple and dict that change nothing.
#pragma once

#include "tokenizers/jinja/value.h"

namespace tessera::tokenizers::jinja {

using Method = Value (*)(Runtime& runtime, const Value& self, const Arguments& arguments);

Method find_method(const Value& self, std::string_view name);  // null where there is none
bool is_changing_method(std::string_view name);                // of dict: the sandbox forbids it

Method find_text_method(std::string_view name);
Method find_text_question(std::string_view name);  // isdigit and such
Method find_dictionary_method(std::string_view name);
Method find_sequence_method(std::string_view name);

std::int64_t size_of_indexed(const Value& value);  // of a text or sequence
// Python's str.splitlines: at every kind of line end.
std::vector<std::string> lines_of(std::string_view text, bool keep_ends = false);
std::string replaced(Runtime& runtime, const std::string& text, const std::string& old, const std::string& by,
                     std::int64_t most = -1);
std::string joined(Runtime& runtime, const std::string& separator, const std::vector<std::string>& parts);

}  // namespace tessera::tokenizers::jinja
