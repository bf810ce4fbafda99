// Flat images through a few layers to logits of classes. The layers before the last carry an autoencoder's names, so
// that they can start from one.
#include "tessera/models/architecture.h"
#include "tessera/models/class_names.h"
#include "tessera/models/layer_wise.h"
#include "tessera/models/mlp.h"
#include "tessera/models/settings.h"
#include "tessera/models/vision/vision.h"
#include "tessera/nn/linear.h"

namespace tessera::models {
namespace {

class MlpClassifier : public Model, public LayerWise {
   public:
    // `widths`: from the image to the last hidden layer.
    MlpClassifier(const Config& settings, const std::vector<std::int64_t>& widths, nn::Activation activation)
        : input_width_(widths.front()),
          encoder_(widths, activation, true),
          classifier_(widths.back(), read_size(settings, "classes")),
          dropout_(read_dropout(settings, "dropout", 0)) {
        config = settings;
        capabilities = {Capability::ClassifyImages, Capability::LearnLayerwise};
        class_names = read_class_names(settings, read_size(settings, "classes"));
        weights.names = {{"encoder", "encoder"}, {"classifier", "classifier"}};
    }

    Tensor forward(const Batch& batch, const nn::Context& context, const Observer& observer) const override {
        const Tensor hidden = encoder_.forward(flat_images(batch.pixel_values, input_width_), context, dropout_);
        if (observer) observer("last_hidden", hidden);
        return classifier_.forward(hidden, context);
    }

    Tensor loss(const Batch& batch, const LossOptions& options, const nn::Context& context) const override {
        const Tensor logits = forward(batch, context, {});
        check(batch.labels.defined() && batch.labels.shape() == Shape{logits.size(0)}, "labels: expected (",
              logits.size(0), "), one class per image, found ", batch.labels.shape());
        return ops::cross_entropy(logits, batch.labels, options.cross_entropy());
    }

    // Layer by layer with the classes at hand (Bengio et al. 2006): the classifier stands on each layer in turn, which
    // takes layers of one width.
    std::size_t layers() const override { return encoder_.layers.size(); }

    Tensor layer_loss(const Batch& batch, std::size_t layer, const LossOptions& options,
                      const nn::Context& context) const override {
        const Tensor below = encoder_.below(layer, flat_images(batch.pixel_values, input_width_), context);
        const Tensor hidden = encoder_.layer(layer, below, context);
        if (hidden.size(1) != classifier_.weight.size(1))
            config.reject("hidden_widths", text_of("layer by layer they must be equal, found ", hidden.size(1), " and ",
                                                   classifier_.weight.size(1)));
        return ops::cross_entropy(classifier_.forward(nn::drop(hidden, dropout_, context, layer)), batch.labels,
                                  options.cross_entropy());
    }

    std::vector<std::string> layer_parameters(std::size_t layer) const override {
        return {text_of("encoder.", layer, ".")};
    }

    void visit(const nn::Visitor& visitor) override {
        visitor("encoder", encoder_);
        visitor("classifier", classifier_);
    }

   private:
    std::int64_t input_width_;
    Mlp encoder_;
    nn::Linear classifier_;
    double dropout_;
};

}  // namespace

static std::unique_ptr<Model> mlp_classifier(const Config& config) {
    std::vector<std::int64_t> widths = read_widths(config, "hidden_widths");
    widths.insert(widths.begin(), read_size(config, "input_width"));
    return std::make_unique<MlpClassifier>(config, widths, read_activation(config, "activation", "relu"));
}

static std::vector<std::string> class_names(const Config& config) {
    return read_class_names(config, read_size(config, "classes"));
}

static constexpr Vision vision{.images = flat_image_processor_config, .classes = class_names};

static const RegisterArchitecture register_mlp_classifier(
    {"mlp_classifier", "Rumelhart et al., Learning Representations by Back-Propagating Errors, 1986", mlp_classifier,
     &vision});

}  // namespace tessera::models
