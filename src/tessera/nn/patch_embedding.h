// Cuts images into patches and projects each to a token (ViT, Dosovitskiy et al. 2020): a convolution whose stride is
// its kernel, computed as one matrix product.
#pragma once

#include "tessera/nn/module.h"

namespace tessera::nn {

struct PatchEmbeddingSettings {
    std::int64_t channels = 3;
    std::int64_t patch = 16;
    std::int64_t width = 0;
    bool has_bias = true;
};

class PatchEmbedding : public Layer {
   public:
    explicit PatchEmbedding(const PatchEmbeddingSettings& settings);
    Tensor forward(const Tensor& pixels) const override;  // (B, C, H, W) → (B, H/P · W/P, width), row by row
    void visit(const Visitor& visitor) override;

    Tensor weight;  // (width, C, P, P)
    Tensor bias;
};

}  // namespace tessera::nn
