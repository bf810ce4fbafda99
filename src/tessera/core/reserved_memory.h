// Address space of the host that takes memory only where it is written: room for a text of any length, paid for by the
// text's own.
#pragma once

#include <cstddef>
#include <memory>

namespace tessera {

// Page-aligned, zero until written; given back when the last owner goes. Throws naming the size when there is no space.
std::shared_ptr<void> reserve_memory(std::size_t bytes);

}  // namespace tessera
