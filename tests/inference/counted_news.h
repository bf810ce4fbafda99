// How often operator new was asked in this program. In a file of its own: a compiler that sees into the replaced
// operators takes their malloc and free for a mismatch. Not there under the address sanitizer, which has its own.
#pragma once

#include <cstdint>

namespace tessera::testing {

std::int64_t news_so_far();

}  // namespace tessera::testing
