// One function per command: arguments in, exit status out (0 done, 1 failed, 2 wrong usage).
#pragma once

#include <string>
#include <vector>

namespace tessera::cli {

int ops_command(const std::vector<std::string>& arguments);

}  // namespace tessera::cli
