// The cost of a model, without its weights: parameters by part, memory of its cache, floating-point operations per
// token, and a drawing of its blocks.
#pragma once

#include <string>
#include <vector>

#include "tessera/models/model.h"

namespace tessera::models {

struct Part {
    std::string name;  // "attention", "feed-forward", …
    std::int64_t parameters = 0;
};

// Layers that stand one after another: of a decoder, an encoder, a vision tower.
struct Stack {
    std::string name;  // as in the names of its parameters; empty: the model is this one stack
    std::int64_t layers = 0;
    // Of its attention, the first layer's; 0 where it has none.
    std::int64_t width = 0, heads = 0, kv_heads = 0, head_width = 0;
};

struct Summary {
    std::vector<Part> parts;  // in the order of the model
    std::int64_t parameters = 0;
    std::int64_t active_parameters = 0;  // that one token goes through; fewer than all where experts are chosen
    bool generates = false;
    std::vector<Stack> stacks;
    std::int64_t vocabulary = 0;  // how many tokens have an embedding; 0: none
    // Numbers that the cache keeps for each token, in all layers; what it would be if every query head had its own.
    std::int64_t cache_per_token = 0, full_cache_per_token = 0;
    std::int64_t window = 0;  // the largest number of tokens that all layers keep; 0: as many as there are
    // Multiply–adds count two. A forward pass of one token: its matrices, and for each token that it looks at. What an
    // encoder or a vision tower does for each of its own tokens stands apart.
    double matrix_operations = 0, operations_per_context_token = 0;
    double encoder_operations = 0;
};

Summary summarise(Model& model);

// One block of each kind, top to bottom.
std::string draw_blocks(Model& model);

}  // namespace tessera::models
