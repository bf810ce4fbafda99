// The value of a string literal: Python's escapes.
#pragma once

#include <string>
#include <string_view>

namespace tessera::jinja {

std::string unescaped(std::string_view body);  // what stands between the quotes

}  // namespace tessera::jinja
