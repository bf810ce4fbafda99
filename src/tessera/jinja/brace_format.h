// Python's '{} is {1:>5.2f} of {name[key].more!r}'.format(…).
#pragma once

#include <string>

#include "tessera/jinja/value.h"

namespace tessera::jinja {

std::string brace_format(Runtime& runtime, const std::string& pattern, const Arguments& arguments);

}  // namespace tessera::jinja
