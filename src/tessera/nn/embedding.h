// A table of vectors, looked up by id; the same table is the output head of models that tie the two.
#pragma once

#include "tessera/nn/module.h"

namespace tessera::nn {

class Embedding : public Module {
   public:
    Embedding() = default;
    Embedding(std::int64_t count, std::int64_t width, DType dtype = DType::F32);

    Tensor forward(const Tensor& ids) const;    // (…) → (…, width)
    Tensor logits(const Tensor& hidden) const;  // (…, width) → (…, count): the tied head
    void visit(const Visitor& visitor) override;

    Tensor weight;                 // (count, width)
    std::int64_t padding_id = -1;  // this row learns nothing from being looked up; −1: every row does
};

}  // namespace tessera::nn
