// SigLIP's vision tower, alone or inside another model.
#pragma once

#include "tessera/models/model.h"
#include "tessera/models/vision/patches.h"
#include "tessera/models/vision/pre_norm_encoder.h"
#include "tessera/models/vision/vision_tower.h"
#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/embedding.h"
#include "tessera/nn/patch_embedding.h"

namespace tessera::models {

// Attention pooling: a learned query looks at all states, and a feed-forward network follows.
class PoolingHead : public nn::Module {
   public:
    explicit PoolingHead(const PreNormSettings& settings);
    Tensor forward(const Tensor& states, const nn::Context& context) const;  // (B, T, width) → (B, width)
    void visit(const nn::Visitor& visitor) override;

   private:
    Tensor probe_;  // (1, 1, width)
    nn::DotProductAttention attention_;
    nn::LayerNorm norm_;
    nn::FeedForward feed_forward_;
};

class SiglipVision : public VisionTower {
   public:
    explicit SiglipVision(const Config& config);  // a vision_config

    Tensor forward(const Tensor& pixel_values, const nn::Context& context) const override;
    Tensor pool(const Tensor& states, const nn::Context& context) const;  // → (B, width); an error without a head
    void visit(const nn::Visitor& visitor) override;

    bool has_head() const { return head_ != nullptr; }
    std::int64_t patches() const override { return images_.patches(); }
    std::int64_t width() const override { return positions_.weight.size(1); }

   private:
    SiglipVision(const Config& config, const Images& images, const PreNormSettings& settings);

    Images images_;
    nn::PatchEmbedding patches_;
    nn::Embedding positions_;
    nn::Stack stack_;
    std::unique_ptr<PoolingHead> head_;
};

PreNormSettings read_siglip_tower(const Config& config);  // of either tower
WeightTable siglip_vision_weights();                      // names under "vision_model."

}  // namespace tessera::models
