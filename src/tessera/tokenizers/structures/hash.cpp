#include "tessera/tokenizers/structures/hash.h"

#include <random>

namespace tessera::tokenizers {

const std::uint64_t hash_seed = [] {
    std::random_device source;
    return static_cast<std::uint64_t>(source()) << 32 | source();
}();

}  // namespace tessera::tokenizers
