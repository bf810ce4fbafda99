// ViT (Dosovitskiy et al. 2020): an image cut into patches, each projected to a token; a learned [CLS] token before
// them, learned positions, a pre-norm encoder, and a classifier that reads [CLS]. A checkpoint of the bare encoder
// (ViTModel) has no classifier: its output is the state of [CLS].
#include <algorithm>

#include "tessera/models/architecture.h"
#include "tessera/models/class_names.h"
#include "tessera/models/residual_dtype.h"
#include "tessera/models/vision/image_processor_defaults.h"
#include "tessera/models/vision/patches.h"
#include "tessera/models/vision/pre_norm_encoder.h"
#include "tessera/models/vision/vision.h"
#include "tessera/nn/linear.h"
#include "tessera/nn/patch_embedding.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/views.h"

namespace tessera::models {
namespace {

WeightTable vit_weights() {
    const std::string layer = "vit.encoder.layer.*.";
    return {.names = {{"class_token", "vit.embeddings.cls_token"},
                      {"positions", "vit.embeddings.position_embeddings"},
                      {"patches", "vit.embeddings.patch_embeddings.projection"},
                      {"layers.*.attention_norm", layer + "layernorm_before"},
                      {"layers.*.attention.query", layer + "attention.attention.query"},
                      {"layers.*.attention.key", layer + "attention.attention.key"},
                      {"layers.*.attention.value", layer + "attention.attention.value"},
                      {"layers.*.attention.output", layer + "attention.output.dense"},
                      {"layers.*.feed_forward_norm", layer + "layernorm_after"},
                      {"layers.*.feed_forward.up", layer + "intermediate.dense"},
                      {"layers.*.feed_forward.down", layer + "output.dense"},
                      {"final_norm", "vit.layernorm"},
                      {"classifier", "classifier"}},
            .ignored = {"*pooler.dense.weight", "*pooler.dense.bias"},
            .module_aliases = {{"vit.layers.", "vit.encoder.layer."},
                               {".attention.q_proj.", ".attention.attention.query."},
                               {".attention.k_proj.", ".attention.attention.key."},
                               {".attention.v_proj.", ".attention.attention.value."},
                               {".mlp.fc1.", ".intermediate.dense."},
                               {".mlp.fc2.", ".output.dense."},
                               {".attention.o_proj.", ".attention.output.dense."}},
            .optional_prefix = "vit."};
}

// 0: the bare encoder.
std::int64_t read_classes(const Config& config) {
    if (config.has("architectures")) {
        const std::vector<std::string> names = config.texts("architectures");
        if (std::find(names.begin(), names.end(), "ViTModel") != names.end()) return 0;
    }
    return read_class_count(config);
}

class Vit : public Model {
   public:
    Vit(const Config& settings, const Images& images, const PreNormSettings& encoder, std::int64_t classes)
        : images_(images),
          patches_({.channels = images.channels, .patch = images.patch, .width = encoder.width}),
          class_token_(Tensor::deferred({1, 1, encoder.width})),
          positions_(Tensor::deferred({1, 1 + images.patches(), encoder.width})),
          stack_(pre_norm_encoder(encoder)),
          dropout_(encoder.dropout) {
        if (classes > 0) classifier_ = nn::Linear(encoder.width, classes);
        config = settings;
        capabilities = {Capability::EmbedImages, Capability::LearnClasses};
        if (classes > 0) capabilities.add(Capability::ClassifyImages);
        class_names = read_class_names(settings, classes);
        weights = vit_weights();
    }

    Tensor forward(const Batch& batch, const nn::Context& given, const Observer& observer) const override {
        nn::Context context = given;
        context.mask = ops::AttentionMask::bidirectional();
        const Tensor patches = patches_.forward(images_.whole_patches(batch.pixel_values));
        const Tensor first = ops::expand(to_residual_dtype(class_token_), {patches.size(0), 1, patches.size(2)});
        const Tensor tokens = ops::add(ops::concat({first, patches}, 1), to_residual_dtype(positions_));
        const Tensor x = nn::drop(tokens, dropout_, context, stack_.blocks.size());
        const Tensor states = observer ? stack_.forward(x, context) : stack_.forward_first(x, 1, context);
        if (observer) observer("last_hidden", states);
        const Tensor summary = ops::select(states, 1, 0);
        return classifier_.weight.defined() ? classifier_.forward(summary, context) : summary;
    }

    Tensor loss(const Batch& batch, const LossOptions& options, const nn::Context& context) const override {
        check(classifier_.weight.defined(), config.source(), ": the bare encoder has no classifier to train");
        const Tensor logits = forward(batch, context, {});
        check(batch.labels.defined() && batch.labels.shape() == Shape{logits.size(0)}, "labels: expected (",
              logits.size(0), "), one class per image, found ", batch.labels.shape());
        return ops::cross_entropy(logits, batch.labels, options.cross_entropy());
    }

    void visit(const nn::Visitor& visitor) override {
        visitor("class_token", class_token_);
        visitor("positions", positions_);
        visitor("patches", patches_);
        stack_.visit(visitor);
        if (classifier_.weight.defined()) visitor("classifier", classifier_);
    }

   private:
    Images images_;
    nn::PatchEmbedding patches_;
    Tensor class_token_, positions_;
    nn::Stack stack_;
    nn::Linear classifier_;  // without a weight in the bare encoder
    double dropout_;
};

}  // namespace

static std::unique_ptr<Model> vit(const Config& config) {
    PreNormSettings encoder = read_pre_norm(config, "gelu", 1e-12);
    encoder.input_bias = config.boolean("qkv_bias", true);
    encoder.attention_dropout = read_dropout(config, "attention_probs_dropout_prob", 0);
    encoder.dropout = read_dropout(config, "hidden_dropout_prob", 0);
    return std::make_unique<Vit>(config, read_images(config), encoder, read_classes(config));
}

static formats::ImageProcessorConfig images(const Config& config) {
    const Images own = read_images(config);
    formats::ImageProcessorConfig settings = with_size(vit_images(), own.size);
    settings.grey = own.channels == 1;
    return settings;
}

static std::vector<std::string> class_names(const Config& config) {
    return read_class_names(config, read_classes(config));
}

static constexpr Vision vision{.images = images, .image_processor = "ViTImageProcessor", .classes = class_names};

static const RegisterArchitecture register_vit(
    {"vit", "Dosovitskiy et al., An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale, 2020", vit,
     &vision});

}  // namespace tessera::models
