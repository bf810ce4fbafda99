// Blocks one above the other, and the norm at the top. With a causal mask it is a decoder, with a bidirectional one an
// encoder; CrossStack is the decoder that also looks at an encoder's states.
#pragma once

#include "tessera/nn/blocks/block.h"
#include "tessera/nn/blocks/cross_block.h"

namespace tessera::nn {

using StackCache = std::vector<std::unique_ptr<Cache>>;
using CrossStackCache = std::vector<std::unique_ptr<CrossCache>>;
std::int64_t cache_bytes(const StackCache& cache);

class Stack : public Module {
   public:
    Stack() = default;
    Stack(std::vector<std::unique_ptr<Block>> blocks, std::unique_ptr<Layer> final_norm);

    // `after_block`, when given, is told every block's output (before the final norm).
    using Observer = std::function<void(std::size_t block, const Tensor& output)>;
    Tensor forward(const Tensor& x, const Context& context, StackCache* cache = nullptr,
                   const Observer& after_block = {}) const;
    // The states of the first `count` tokens, all that some classifiers read: the last block makes no others.
    Tensor forward_first(const Tensor& x, std::int64_t count, const Context& context) const;
    StackCache make_cache(std::int64_t capacity) const;
    void visit(const Visitor& visitor) override;

    std::vector<std::unique_ptr<Block>> blocks;
    std::unique_ptr<Layer> final_norm;  // may be empty (post-norm stacks)
};

class CrossStack : public Module {
   public:
    CrossStack() = default;
    CrossStack(std::vector<std::unique_ptr<CrossBlock>> blocks, std::unique_ptr<Layer> final_norm);

    Tensor forward(const Tensor& x, const Memory& memory, const Context& context,
                   CrossStackCache* cache = nullptr) const;
    CrossStackCache make_cache(std::int64_t capacity) const;
    void visit(const Visitor& visitor) override;

    std::vector<std::unique_ptr<CrossBlock>> blocks;
    std::unique_ptr<Layer> final_norm;
};

}  // namespace tessera::nn
