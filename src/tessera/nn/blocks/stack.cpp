#include "tessera/nn/blocks/stack.h"

#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::nn {

std::int64_t cache_bytes(const StackCache& cache) {
    std::int64_t total = 0;
    for (const auto& layer : cache) total += layer->bytes();
    return total;
}

Stack::Stack(std::vector<std::unique_ptr<Block>> given, std::unique_ptr<Layer> norm)
    : blocks(std::move(given)), final_norm(std::move(norm)) {}

namespace {

using RunBlock = std::function<Tensor(const Tensor& stream, const Context& context)>;

// One block under recompute. Whatever the block leaves with the context must leave the function as an output, so that
// it stands on the tape once, however often the block runs; and the bias, which all blocks share, comes in as an input.
Tensor run_again_in_backward(const RunBlock& run_block, const Tensor& stream, const Context& context) {
    const auto run = [run_block, context](const std::vector<Tensor>& in) {
        std::vector<RouterChoice> choices;
        Context inside = context;
        inside.bias = in[1];
        inside.router_choices = &choices;
        std::vector<Tensor> outputs{run_block(in[0], inside)};
        for (const RouterChoice& choice : choices) outputs.insert(outputs.end(), {choice.logits, choice.indices});
        return outputs;
    };
    const std::vector<Tensor> outputs = recompute(run, {stream, context.bias});
    if (context.router_choices)
        for (std::size_t i = 1; i < outputs.size(); i += 2)
            context.router_choices->push_back({outputs[i], outputs[i + 1]});
    return outputs[0];
}

Tensor run_without_cache(const RunBlock& run_block, const Tensor& stream, const Context& context) {
    return context.recompute ? run_again_in_backward(run_block, stream, context) : run_block(stream, context);
}

}  // namespace

Tensor Stack::forward(const Tensor& x, const Context& context, StackCache* cache, const Observer& after_block) const {
    check(!cache || cache->size() == blocks.size(), "stack: a cache of ", cache ? cache->size() : 0, " layers for ",
          blocks.size(), " blocks");
    Tensor stream = x;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const Context inside = context.child(i);
        const auto run = [&block = *blocks[i]](const Tensor& in, const Context& own) { return block.forward(in, own); };
        stream = cache ? blocks[i]->forward(stream, inside, (*cache)[i].get()) : run_without_cache(run, stream, inside);
        if (after_block) after_block(i, stream);
    }
    return final_norm ? final_norm->forward(stream) : stream;
}

Tensor Stack::forward_first(const Tensor& x, std::int64_t count, const Context& context) const {
    Tensor stream = blocks.empty() ? ops::slice(x, 1, 0, count) : x;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const auto run = [&block = *blocks[i], count, is_last = i + 1 == blocks.size()](const Tensor& in,
                                                                                        const Context& own) {
            return is_last ? block.forward_first(in, count, own) : block.forward(in, own);
        };
        stream = run_without_cache(run, stream, context.child(i));
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
        const auto run_again = [&block = *blocks[i], inside, mask = memory.mask](const std::vector<Tensor>& in) {
            Context with_bias = inside;
            with_bias.bias = in[2];
            return std::vector<Tensor>{block.forward(in[0], {in[1], mask}, with_bias)};
        };
        if (context.recompute && !cache)
            stream = recompute(run_again, {stream, memory.states, inside.bias})[0];
        else
            stream = blocks[i]->forward(stream, memory, inside, cache ? (*cache)[i].get() : nullptr);
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
