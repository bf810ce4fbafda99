// The contexts of an n-gram model as a tree: the root is the empty context, a child adds the token one place further
// back. So the contexts of a token, from the shortest to the longest that was seen, are one walk from the root. Each
// node keeps the share of every token that was seen after it, and what is left for those that were not.
//
//     "the" ── e ── h ── t            p(w | e), p(w | he), p(w | the)
//
// Nodes are numbered level by level, so that the children of a node stand together, sorted by their token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/nn/module.h"

namespace tessera::models {

// What the tree is made from and stored as. Node i has the children children[i] … children[i + 1] and the entries
// entries[i] … entries[i + 1].
struct ContextArrays {
    std::vector<std::int32_t> tokens = {};      // of each node: what it adds to its parent's context
    std::vector<std::int32_t> children = {};    // one more than nodes
    std::vector<std::int32_t> entries = {};     // one more than nodes
    std::vector<float> rests = {};              // of each node: what its entries leave
    std::vector<std::int32_t> successors = {};  // of each entry: the token that followed
    std::vector<float> shares = {};             // of each entry: its probability, beside its part of the rest
};

class ContextTree : public nn::Module {
   public:
    // Sizes as a configuration gives them: at least one each.
    ContextTree(std::int64_t contexts, std::int64_t entries);

    void set(const ContextArrays& arrays);
    void visit(const nn::Visitor& visitor) override;
    void initialise_own() override;  // knows nothing: every token is as probable as any other

    std::int64_t contexts() const { return tokens_.elements(); }
    std::int64_t entry_count() const { return successors_.elements(); }
    Device device() const { return tokens_.device(); }

    // The arrays where they can be read, checked as they are used: files come from strangers.
    class Reader {
       public:
        explicit Reader(const ContextTree& tree);
        static constexpr std::int64_t root = 0, none = -1;
        std::int64_t child(std::int64_t node, std::int64_t token) const;  // or none
        // probabilities ← rest · probabilities + shares
        void refine(std::int64_t node, std::span<double> probabilities) const;

       private:
        struct Range {
            std::int64_t begin, end;
        };
        Range range(const Tensor& bounds, std::int64_t node, const Tensor& within) const;

        Tensor tokens_, children_, entries_, rests_, successors_, shares_;
    };

   private:
    Tensor tokens_, children_, entries_, rests_, successors_, shares_;
};

}  // namespace tessera::models
