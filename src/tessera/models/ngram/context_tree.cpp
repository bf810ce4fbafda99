#include "tessera/models/ngram/context_tree.h"

#include <algorithm>

namespace tessera::models {
namespace {

template <class T>
Tensor tensor_of(const std::vector<T>& values) {
    return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
}

}  // namespace

ContextTree::ContextTree(std::int64_t contexts, std::int64_t entries)
    : tokens_(Tensor::deferred({contexts}, DType::I32)),
      children_(Tensor::deferred({contexts + 1}, DType::I32)),
      entries_(Tensor::deferred({contexts + 1}, DType::I32)),
      rests_(Tensor::deferred({contexts})),
      successors_(Tensor::deferred({entries}, DType::I32)),
      shares_(Tensor::deferred({entries})) {}

void ContextTree::set(const ContextArrays& arrays) {
    tokens_ = tensor_of(arrays.tokens);
    children_ = tensor_of(arrays.children);
    entries_ = tensor_of(arrays.entries);
    rests_ = tensor_of(arrays.rests);
    successors_ = tensor_of(arrays.successors);
    shares_ = tensor_of(arrays.shares);
}

void ContextTree::initialise_own() {
    tokens_ = Tensor::zeros(tokens_.shape(), DType::I32);
    children_ = Tensor::full(children_.shape(), 1, DType::I32);
    entries_ = Tensor::zeros(entries_.shape(), DType::I32);
    rests_ = Tensor::full(rests_.shape(), 1);
    successors_ = Tensor::zeros(successors_.shape(), DType::I32);
    shares_ = Tensor::zeros(shares_.shape());
}

void ContextTree::visit(const nn::Visitor& visitor) {
    visitor.fixed("tokens", tokens_);
    visitor.fixed("children", children_);
    visitor.fixed("entries", entries_);
    visitor.fixed("rests", rests_);
    visitor.fixed("successors", successors_);
    visitor.fixed("shares", shares_);
}

ContextTree::Reader::Reader(const ContextTree& tree) {
    const auto readable = [](const Tensor& tensor, DType dtype) { return tensor.to(cpu).to(dtype).contiguous(); };
    tokens_ = readable(tree.tokens_, DType::I32);
    children_ = readable(tree.children_, DType::I32);
    entries_ = readable(tree.entries_, DType::I32);
    rests_ = readable(tree.rests_, DType::F32);
    successors_ = readable(tree.successors_, DType::I32);
    shares_ = readable(tree.shares_, DType::F32);
}

ContextTree::Reader::Range ContextTree::Reader::range(const Tensor& bounds, std::int64_t node,
                                                      const Tensor& within) const {
    const std::int32_t* at = bounds.data<std::int32_t>() + node;
    check(at[0] >= 0 && at[0] <= at[1] && at[1] <= within.elements(), "contexts: node ", node, " refers to ", at[0],
          " to ", at[1], " of ", within.elements());
    return {at[0], at[1]};
}

std::int64_t ContextTree::Reader::child(std::int64_t node, std::int64_t token) const {
    const Range children = range(children_, node, tokens_);
    const std::int32_t* tokens = tokens_.data<std::int32_t>();
    const std::int32_t* found = std::lower_bound(tokens + children.begin, tokens + children.end, token);
    return found != tokens + children.end && *found == token ? found - tokens : none;
}

void ContextTree::Reader::refine(std::int64_t node, std::span<double> probabilities) const {
    const double rest = rests_.data<float>()[node];
    for (double& probability : probabilities) probability *= rest;
    const Range entries = range(entries_, node, successors_);
    const std::int32_t* successors = successors_.data<std::int32_t>();
    const float* shares = shares_.data<float>();
    for (std::int64_t entry = entries.begin; entry < entries.end; ++entry) {
        check(successors[entry] >= 0 && static_cast<std::size_t>(successors[entry]) < probabilities.size(),
              "contexts: entry ", entry, " is the token ", successors[entry], " of a vocabulary of ",
              probabilities.size());
        probabilities[static_cast<std::size_t>(successors[entry])] += static_cast<double>(shares[entry]);
    }
}

}  // namespace tessera::models
