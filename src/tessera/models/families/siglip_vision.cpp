// SigLIP's vision tower (Zhai et al. 2023): a ViT without [CLS], pooled by attention. Checkpoints keep the pooling's
// query, key and value in one matrix.
#include "tessera/models/architecture.h"
#include "tessera/models/families/siglip.h"
#include "tessera/models/residual_dtype.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/views.h"

namespace tessera::models {

PreNormSettings read_siglip_tower(const Config& config) {
    PreNormSettings settings = read_pre_norm(config, "gelu_pytorch_tanh", 1e-6);
    settings.attention_dropout = read_dropout(config, "attention_dropout", 0);
    return settings;
}

PoolingHead::PoolingHead(const PreNormSettings& s)
    : probe_(Tensor::deferred({1, 1, s.width})),
      attention_({.width = s.width, .heads = s.heads, .input_bias = true, .output_bias = true}),
      norm_(s.width, s.norm_eps),
      feed_forward_({.width = s.width, .hidden = s.hidden, .activation = s.activation}) {}

Tensor PoolingHead::forward(const Tensor& states, const nn::Context& context) const {
    const Tensor query = ops::expand(to_residual_dtype(probe_), {states.size(0), 1, states.size(2)});
    const Tensor pooled =
        attention_.attend(query, attention_.project(states, context), ops::AttentionMask::bidirectional(), context);
    const Tensor refined = ops::add(pooled, feed_forward_.forward(norm_.forward(pooled), context));
    return ops::select(refined, 1, 0);
}

void PoolingHead::visit(const nn::Visitor& visitor) {
    visitor("probe", probe_);
    visitor("attention", attention_);
    visitor("norm", norm_);
    visitor("feed_forward", feed_forward_);
}

SiglipVision::SiglipVision(const Config& config)
    : SiglipVision(config, read_images(config), read_siglip_tower(config)) {}

SiglipVision::SiglipVision(const Config& config, const Images& images, const PreNormSettings& settings)
    : images_(images),
      patches_({.channels = images.channels, .patch = images.patch, .width = settings.width}),
      positions_(images.patches(), settings.width),
      stack_(pre_norm_encoder(settings)) {
    if (config.boolean("vision_use_head", true)) head_ = std::make_unique<PoolingHead>(settings);
}

Tensor SiglipVision::forward(const Tensor& pixel_values, const nn::Context& given) const {
    nn::Context context = given;
    context.mask = ops::AttentionMask::bidirectional();
    const Tensor patches = patches_.forward(images_.whole_patches(pixel_values));
    return stack_.forward(ops::add(patches, to_residual_dtype(positions_.weight)), context);
}

Tensor SiglipVision::pool(const Tensor& states, const nn::Context& context) const {
    check(head_ != nullptr, "the vision tower has no pooling head (vision_use_head)");
    return head_->forward(states, context);
}

void SiglipVision::visit(const nn::Visitor& visitor) {
    visitor("patches", patches_);
    visitor("positions", positions_);
    stack_.visit(visitor);
    visitor("head", head_);
}

WeightTable siglip_vision_weights() {
    const std::string layer = "vision_model.encoder.layers.*.", head = "vision_model.head.";
    return {.names = {{"patches", "vision_model.embeddings.patch_embedding"},
                      {"positions", "vision_model.embeddings.position_embedding"},
                      {"layers.*.attention_norm", layer + "layer_norm1"},
                      {"layers.*.attention.query", layer + "self_attn.q_proj"},
                      {"layers.*.attention.key", layer + "self_attn.k_proj"},
                      {"layers.*.attention.value", layer + "self_attn.v_proj"},
                      {"layers.*.attention.output", layer + "self_attn.out_proj"},
                      {"layers.*.feed_forward_norm", layer + "layer_norm2"},
                      {"layers.*.feed_forward.up", layer + "mlp.fc1"},
                      {"layers.*.feed_forward.down", layer + "mlp.fc2"},
                      {"final_norm", "vision_model.post_layernorm"},
                      {"head.probe", head + "probe"},
                      {"head.attention.query.weight", head + "attention.in_proj_weight", {.part = 0}},
                      {"head.attention.key.weight", head + "attention.in_proj_weight", {.part = 1}},
                      {"head.attention.value.weight", head + "attention.in_proj_weight", {.part = 2}},
                      {"head.attention.query.bias", head + "attention.in_proj_bias", {.part = 0}},
                      {"head.attention.key.bias", head + "attention.in_proj_bias", {.part = 1}},
                      {"head.attention.value.bias", head + "attention.in_proj_bias", {.part = 2}},
                      {"head.attention.output", head + "attention.out_proj"},
                      {"head.norm", head + "layernorm"},
                      {"head.feed_forward.up", head + "mlp.fc1"},
                      {"head.feed_forward.down", head + "mlp.fc2"}},
            .ignored = {"*.embeddings.position_ids"}};
}

namespace {

// The tower on its own: an image's summary, or its patches' states where there is no head.
class SiglipVisionModel : public Model {
   public:
    explicit SiglipVisionModel(const Config& settings) : tower_(settings) {
        config = settings;
        capabilities = {Capability::EmbedImages};
        weights = siglip_vision_weights();
    }

    Tensor forward(const Batch& batch, const nn::Context& context, const Observer& observer) const override {
        const Tensor states = tower_.forward(batch.pixel_values, context);
        if (observer) observer("vision_last_hidden", states);
        return tower_.has_head() ? tower_.pool(states, context) : states;
    }
    Tensor loss(const Batch&, const LossOptions&, const nn::Context&) const override {
        fail(config.source(), ": a vision tower alone has no loss");
    }
    void visit(const nn::Visitor& visitor) override { tower_.visit(visitor); }

   private:
    SiglipVision tower_;
};

}  // namespace

static std::unique_ptr<Model> siglip_vision_model(const Config& config) {
    return std::make_unique<SiglipVisionModel>(config);
}

static const RegisterArchitecture register_siglip_vision_model(
    {"siglip_vision_model", "Zhai et al., Sigmoid Loss for Language Image Pre-Training, 2023", siglip_vision_model});

}  // namespace tessera::models
