// value.name, value[key], value[a:b:c] and calls, as the reference's sandboxed environment resolves them: `.` looks for
// a method first and then for an item, `[]` the other way round, and what is not there is undefined.
#pragma once

#include "tessera/jinja/value.h"

namespace tessera::jinja {

Value attribute(Runtime& runtime, const Value& value, std::string_view name);
Value item(Runtime& runtime, const Value& value, const Value& key);
Value slice(Runtime& runtime, const Value& value, const Value& start, const Value& stop, const Value& step);
Value call(Runtime& runtime, const Value& function, const Arguments& arguments);

// A path such as "user.name" or "0.text" or an integer, through items, as filters take it.
// `fallback`, where there is one and it is not none, stands for whatever is missing on the way.
Value item_at_path(Runtime& runtime, const Value& value, const Value& path, const Value* fallback = nullptr);

}  // namespace tessera::jinja
