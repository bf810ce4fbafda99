// SigLIP (Zhai et al. 2023): a vision tower and a text tower that meet in one space. Each pair of an image and a text
// is a question of its own, answered by a sigmoid of their scaled similarity.
#include "tessera/models/families/siglip.h"
#include "tessera/models/architecture.h"

#include <cmath>

#include "tessera/models/families/siglip_texts.h"
#include "tessera/models/padding.h"
#include "tessera/models/residual_dtype.h"
#include "tessera/models/vision/image_processor_defaults.h"
#include "tessera/models/vision/vision.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/losses.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/unary.h"
#include "tessera/ops/views.h"

namespace tessera::models {
namespace {

// All tokens see all; the state of the last, which may be padding, goes through the head.
class TextTower : public nn::Module {
   public:
    TextTower(const Config& config, const PreNormSettings& settings)
        : tokens_(read_size(config, "vocab_size", 32000), settings.width),
          positions_(read_size(config, "max_position_embeddings", 64), settings.width),
          stack_(pre_norm_encoder(settings)),
          head_(settings.width, read_size(config, "projection_size", settings.width)) {}

    Tensor forward(const Tensor& ids, const Tensor& attention_mask, const nn::Context& given) const {
        check(ids.rank() == 2 && ids.size(1) > 0 && ids.size(1) <= positions_.weight.size(0),
              "input_ids: expected (B, T) with at most ", positions_.weight.size(0), " tokens, found ", ids.shape());
        nn::Context context = given;
        context.mask = ops::AttentionMask::bidirectional();
        padding_of(attention_mask).apply(context.mask);
        const Tensor positions = ops::slice(positions_.weight, 0, 0, ids.size(1));
        const Tensor tokens = ops::add(to_residual_dtype(tokens_.forward(ids)), to_residual_dtype(positions));
        return head_.forward(ops::select(stack_.forward(tokens, context), 1, ids.size(1) - 1), context);
    }

    void visit(const nn::Visitor& visitor) override {
        visitor("tokens", tokens_);
        visitor("positions", positions_);
        stack_.visit(visitor);
        visitor("head", head_);
    }

    std::int64_t out_width() const { return head_.out_width(); }
    std::int64_t longest_text() const { return positions_.weight.size(0); }
    std::int64_t vocabulary() const { return tokens_.weight.size(0); }

   private:
    nn::Embedding tokens_, positions_;
    nn::Stack stack_;
    nn::Linear head_;
};

// How alike an image and a text must be: similarity · exp(scale) + bias.
class Similarity : public nn::Module {
   public:
    // Rows of length 1, (images, width) and (texts, width) → (images, texts)
    Tensor forward(const Tensor& image, const Tensor& text) const {
        const Tensor similarity = ops::matmul(image, text, {.transpose_b = true});
        return ops::add(ops::mul(similarity, ops::exp(to_residual_dtype(scale))), to_residual_dtype(bias));
    }
    void visit(const nn::Visitor& visitor) override {
        visitor("scale", scale);
        visitor("bias", bias);
    }
    // The paper's start: almost all pairs do not belong together.
    void initialise_own() override {
        if (scale.is_deferred()) scale = Tensor::full({1}, std::log(10.0));
        if (bias.is_deferred()) bias = Tensor::full({1}, -10);
    }

    Tensor scale = Tensor::deferred({1}), bias = Tensor::deferred({1});
};

WeightTable siglip_weights() {
    const std::string layer = "text_model.encoder.layers.*.";
    WeightTable table{.names = {{"text.tokens", "text_model.embeddings.token_embedding"},
                                {"text.positions", "text_model.embeddings.position_embedding"},
                                {"text.layers.*.attention_norm", layer + "layer_norm1"},
                                {"text.layers.*.attention.query", layer + "self_attn.q_proj"},
                                {"text.layers.*.attention.key", layer + "self_attn.k_proj"},
                                {"text.layers.*.attention.value", layer + "self_attn.v_proj"},
                                {"text.layers.*.attention.output", layer + "self_attn.out_proj"},
                                {"text.layers.*.feed_forward_norm", layer + "layer_norm2"},
                                {"text.layers.*.feed_forward.up", layer + "mlp.fc1"},
                                {"text.layers.*.feed_forward.down", layer + "mlp.fc2"},
                                {"text.final_norm", "text_model.final_layer_norm"},
                                {"text.head", "text_model.head"},
                                {"similarity.scale", "logit_scale"},
                                {"similarity.bias", "logit_bias"}}};
    add_part(table, siglip_vision_weights(), "vision.", "");
    return table;
}

class Siglip : public Model {
   public:
    explicit Siglip(const Config& settings)
        : vision_(settings.section_or_empty("vision_config")),
          text_(settings.section_or_empty("text_config"), read_siglip_tower(settings.section_or_empty("text_config"))) {
        if (!vision_.has_head()) settings.section("vision_config").reject("vision_use_head", "images need a summary");
        if (text_.out_width() != vision_.width())
            settings.section_or_empty("text_config")
                .reject("projection_size",
                        text_of("texts of width ", text_.out_width(), " cannot meet images of ", vision_.width()));
        config = settings;
        capabilities = {Capability::EmbedImages, Capability::CompareImages};
        init_stds = {{"vision.", "", read_part_init_std(settings, "vision_config")},
                     {"text.", "", read_part_init_std(settings, "text_config")}};
        weights = siglip_weights();
    }

    // logits_per_image: (images, texts).
    Tensor forward(const Batch& batch, const nn::Context& context, const Observer& observer) const override {
        const Embeds embeds = embed(batch, context, observer);
        const Tensor logits = similarity_.forward(embeds.image, embeds.text);
        if (observer) observer("logits_per_image", logits);
        return logits;
    }

    // Image i belongs to text i.
    Tensor loss(const Batch& batch, const LossOptions&, const nn::Context& context) const override {
        const Embeds embeds = embed(batch, context, {});
        return ops::sigmoid_contrastive(embeds.image, embeds.text, similarity_.scale, similarity_.bias);
    }

    std::int64_t longest_text() const override { return text_.longest_text(); }
    std::int64_t vocabulary() const override { return text_.vocabulary(); }

    void visit(const nn::Visitor& visitor) override {
        visitor("vision", vision_);
        visitor("text", text_);
        visitor("similarity", similarity_);
    }

   private:
    struct Embeds {
        Tensor image, text;  // rows of length 1
    };

    Embeds embed(const Batch& batch, const nn::Context& context, const Observer& observer) const {
        check(batch.input_ids.defined(), "input_ids: the model compares images with texts, but there are none");
        enum Use : std::uint64_t { InVision, InPooling, InText };
        const Tensor states = vision_.forward(batch.pixel_values, context.child(InVision));
        const Tensor text = text_.forward(batch.input_ids, batch.attention_mask, context.child(InText));
        const Embeds embeds{ops::l2_normalise(vision_.pool(states, context.child(InPooling))), ops::l2_normalise(text)};
        if (observer) {
            observer("vision_last_hidden", states);
            observer("image_embeds", embeds.image);
            observer("text_embeds", embeds.text);
        }
        return embeds;
    }

    SiglipVision vision_;
    TextTower text_;
    Similarity similarity_;
};

}  // namespace

static std::unique_ptr<Model> siglip(const Config& config) { return std::make_unique<Siglip>(config); }

static formats::ImageProcessorConfig images(const Config& config) {
    return with_size(siglip_images(), read_images(config.section_or_empty("vision_config")).size);
}

static constexpr Vision vision{
    .images = images, .image_processor = "SiglipImageProcessor", .processor = "SiglipProcessor", .texts = siglip_texts};

static const RegisterArchitecture register_siglip({"siglip",
                                                   "Zhai et al., Sigmoid Loss for Language Image Pre-Training, 2023",
                                                   siglip, &vision});

}  // namespace tessera::models
