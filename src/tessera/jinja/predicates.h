// value is test(arguments): the reference's built-in tests.
#pragma once

#include "tessera/jinja/value.h"

namespace tessera::jinja {

using Predicate = bool (*)(Runtime& runtime, const Value& value, const Arguments& arguments);

Predicate find_predicate(std::string_view name);  // null where there is none

}  // namespace tessera::jinja
