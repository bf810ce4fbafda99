// value|filter(arguments): the reference's built-in filters, apart from those that make HTML or are random.
#pragma once

#include "tessera/jinja/value.h"

namespace tessera::jinja {

using Filter = Value (*)(Runtime& runtime, const Value& input, const Arguments& arguments);

Filter find_filter(std::string_view name);  // null where there is none

// Each from its own file.
Filter find_text_filter(std::string_view name);
Filter find_number_filter(std::string_view name);
Filter find_sequence_filter(std::string_view name);
Filter find_choosing_filter(std::string_view name);
Filter find_ordering_filter(std::string_view name);

Value tojson(Runtime& runtime, const Value& input, const Arguments& arguments);

Value apply_filter(Runtime& runtime, Filter filter, const Value& input, const Arguments& arguments);

}  // namespace tessera::jinja
