// A model whose parameters can be set by counting what follows what, in one pass over a text and without gradients.
#pragma once

#include <cstdint>
#include <span>

namespace tessera::models {

class CountTrainable {
   public:
    virtual ~CountTrainable() = default;
    // Goes on with the text counted so far, or begins another one.
    virtual void count(std::span<const std::int64_t> tokens, bool begins) = 0;
    // The parameters from all that was counted; counting may go on afterwards.
    virtual void estimate() = 0;
};

}  // namespace tessera::models
