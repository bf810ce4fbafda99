// The message for a command that ends by an exception.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace tessera::cli {

// One line: what is wrong with which file, in words. Exceptions of the standard library carry no words for people, so
// that theirs are put together here. What the library's errors leave to whoever asked, the option of `command` that
// puts it right, is said here too.
std::string failure_text(const std::exception& error, std::string_view command = {});

}  // namespace tessera::cli
