// How much a template may do: it comes from a stranger.
#pragma once

#include <cstdint>

namespace tessera::jinja {

struct Limits {
    std::int64_t steps = 10'000'000;
    std::int64_t bytes = std::int64_t{256} << 20;  // of all values made, over the whole rendering
    std::int64_t output = std::int64_t{16} << 20;  // bytes of text: far more than any model reads
    int depth = 1000;                              // of evaluations within evaluations: the stack
};

constexpr std::int64_t most_range = 100'000;    // the reference's sandbox refuses longer ranges, too
constexpr int most_value_depth = 100;           // lists in lists
constexpr int most_syntax_depth = 100;          // blocks in blocks, brackets in brackets
constexpr int most_expression_depth = 200;      // a + b + c + …
constexpr std::size_t most_source = 4u << 20u;  // bytes of a template

}  // namespace tessera::jinja
