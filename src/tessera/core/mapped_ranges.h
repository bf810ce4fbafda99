// Where files lie in memory. A file that is cut short while it is mapped has pages that no longer exist, and touching
// one raises SIGBUS: here that ends the process with one line that names the file, instead of without a word. A fault
// anywhere else goes to whoever handled SIGBUS before.
#pragma once

#include <cstddef>
#include <string>

namespace tessera {

// From any thread; the first call installs the handler.
void add_mapped_range(const void* begin, std::size_t bytes, const std::string& name);
void remove_mapped_range(const void* begin);

}  // namespace tessera
