// Python's '%s is %5.2f' % (name, number), also with a dictionary: '%(name)s'.
#pragma once

#include <string>

#include "tessera/jinja/value.h"

namespace tessera::jinja {

std::string printf_format(Runtime& runtime, const std::string& pattern, const Value& values);

}  // namespace tessera::jinja
