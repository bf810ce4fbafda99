// What a person is told when a command ends by an exception.
#pragma once

#include <exception>
#include <string>

namespace tessera::cli {

// One line: what is wrong with which file, in words. Exceptions of the standard library carry no words for people, so
// that theirs are put together here.
std::string failure_text(const std::exception& error);

}  // namespace tessera::cli
