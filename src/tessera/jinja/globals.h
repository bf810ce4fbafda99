// The functions that every template can call: range, namespace, dict, raise_exception, strftime_now.
#pragma once

#include "tessera/jinja/value.h"

namespace tessera::jinja {

Value global(Runtime& runtime, std::string_view name);  // undefined where there is none

}  // namespace tessera::jinja
