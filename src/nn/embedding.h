// A table of vectors, looked up by id; the same table is the output head of models that tie the two.
#pragma once

#include "nn/module.h"

namespace tessera::nn {

class Embedding : public Module {
   public:
    Embedding() = default;
    Embedding(std::int64_t count, std::int64_t width, DType dtype = DType::F32);

    Tensor forward(const Tensor& ids) const;    // (…) → (…, width)
    Tensor scores(const Tensor& hidden) const;  // (…, width) → (…, count): the tied head
    void visit(const Visitor& visitor) override;

    Tensor weight;  // (count, width)
};

}  // namespace tessera::nn
