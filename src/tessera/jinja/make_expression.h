// An expression and how deep it is: what is too deep would overflow the stack when it is evaluated or destroyed.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>

#include "tessera/core/error.h"
#include "tessera/jinja/limits.h"
#include "tessera/jinja/syntax.h"

namespace tessera::jinja {

inline int depth_of(const ExpressionPointer& expression) { return expression ? expression->depth : 0; }
inline int depth_of(const std::vector<ExpressionPointer>& expressions) {
    int depth = 0;
    for (const auto& expression : expressions) depth = std::max(depth, depth_of(expression));
    return depth;
}
inline int depth_of(const CallArguments& arguments) {
    int depth = std::max({depth_of(arguments.positional), depth_of(arguments.more), depth_of(arguments.more_named)});
    for (const auto& [_, value] : arguments.named) depth = std::max(depth, depth_of(value));
    return depth;
}

template <class Node>
ExpressionPointer make(int line, Node node, int depth_within) {
    if (depth_within >= most_expression_depth) fail("line ", line, ": the expression is too deep");
    return std::make_unique<Expression>(Expression{std::move(node), line, depth_within + 1});
}

}  // namespace tessera::jinja
