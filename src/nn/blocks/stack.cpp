#include "nn/blocks/stack.h"

#include "tensor/tape.h"

namespace tessera::nn {

std::int64_t cache_bytes(const StackCache& cache) {
    std::int64_t total = 0;
    for (const auto& layer : cache) total += layer->bytes();
    return total;
}

Stack::Stack(std::vector<std::unique_ptr<Block>> given, std::unique_ptr<Layer> norm)
    : blocks(std::move(given)), final_norm(std::move(norm)) {}

Tensor Stack::forward(const Tensor& x, const Context& context, StackCache* cache, const Observer& after_block) const {
    check(!cache || cache->size() == blocks.size(), "stack: a cache of ", cache ? cache->size() : 0, " layers for ",
          blocks.size(), " blocks");
    Tensor stream = x;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const Context inside = context.child(i);
        const auto run = [&block = *blocks[i], inside](const Tensor& in, Cache* kept) {
            return block.forward(in, inside, kept);
        };
        if (context.recompute && !cache)
            stream = recompute(
                [run](const std::vector<Tensor>& in) { return std::vector<Tensor>{run(in[0], nullptr)}; }, {stream})[0];
        else
            stream = run(stream, cache ? (*cache)[i].get() : nullptr);
        if (after_block) after_block(i, stream);
    }
    return final_norm ? final_norm->forward(stream) : stream;
}

StackCache Stack::make_cache(std::int64_t capacity) const {
    StackCache cache;
    for (const auto& block : blocks) cache.push_back(block->make_cache(capacity));
    return cache;
}

void Stack::visit(const Visitor& visitor) {
    visitor("layers", blocks);
    visitor("final_norm", final_norm);
}

CrossStack::CrossStack(std::vector<std::unique_ptr<CrossBlock>> given, std::unique_ptr<Layer> norm)
    : blocks(std::move(given)), final_norm(std::move(norm)) {}

Tensor CrossStack::forward(const Tensor& x, const Memory& memory, const Context& context,
                           CrossStackCache* cache) const {
    Tensor stream = x;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const Context inside = context.child(i);
        const auto run = [&block = *blocks[i], inside, mask = memory.mask](const Tensor& in, const Tensor& states,
                                                                           CrossCache* kept) {
            return block.forward(in, {states, mask}, inside, kept);
        };
        if (context.recompute && !cache)
            stream = recompute(
                [run](const std::vector<Tensor>& in) { return std::vector<Tensor>{run(in[0], in[1], nullptr)}; },
                {stream, memory.states})[0];
        else
            stream = run(stream, memory.states, cache ? (*cache)[i].get() : nullptr);
    }
    return final_norm ? final_norm->forward(stream) : stream;
}

CrossStackCache CrossStack::make_cache(std::int64_t capacity) const {
    CrossStackCache cache;
    for (const auto& block : blocks) cache.push_back(block->make_cache(capacity));
    return cache;
}

void CrossStack::visit(const Visitor& visitor) {
    visitor("layers", blocks);
    visitor("final_norm", final_norm);
}

}  // namespace tessera::nn
