// An autoencoder (Hinton & Salakhutdinov 2006): images squeezed through ever narrower layers into a code, and
// rebuilt from it by their mirror image. With noise (Vincent et al. 2008) a share of what is to be rebuilt is hidden
// while learning, so that layers which are not narrow learn more than to copy.
#include "tessera/models/architecture.h"
#include "tessera/models/layer_wise.h"
#include "tessera/models/mlp.h"
#include "tessera/models/settings.h"
#include "tessera/models/vision/vision.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/losses.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

// One element, which learns nothing.
Tensor mean_square(const Tensor& x) {
    const NoGrad no_grad;
    return ops::mse(x, Tensor::zeros(x.shape(), x.dtype(), x.device()));
}

class Autoencoder : public Model, public LayerWise {
   public:
    // `widths`: from the image to the code.
    Autoencoder(const Config& settings, const std::vector<std::int64_t>& widths, nn::Activation activation)
        : input_width_(widths.front()),
          encoder_(widths, activation, true),
          decoder_({widths.rbegin(), widths.rend()}, activation, false),
          noise_(read_dropout(settings, "noise", 0)) {
        config = settings;
        capabilities = {Capability::Reconstruct, Capability::LearnLayerwise};
        weights.names = {{"encoder", "encoder"}, {"decoder", "decoder"}};
    }

    // The rebuilt images, (B, input width).
    Tensor forward(const Batch& batch, const nn::Context& context, const Observer& observer) const override {
        const Tensor images = nn::drop(flat_images(batch.pixel_values, input_width_), noise_, context, 0);
        const Tensor code = encoder_.forward(images, context);
        if (observer) observer("code", code);
        return decoder_.forward(code, context);
    }

    Tensor loss(const Batch& batch, const LossOptions&, const nn::Context& context) const override {
        return ops::mse(forward(batch, context, {}), flat_images(batch.pixel_values, input_width_));
    }

    // Layer by layer (Bengio et al. 2006): a layer of the encoder and its mirror image in the decoder rebuild what the
    // layer below gives. What they miss counts as a share of what they were given, because layers differ in size.
    std::size_t layers() const override { return encoder_.layers.size(); }

    Tensor layer_loss(const Batch& batch, std::size_t layer, const LossOptions&,
                      const nn::Context& context) const override {
        const Tensor below = encoder_.below(layer, flat_images(batch.pixel_values, input_width_), context);
        const Tensor code = encoder_.layer(layer, nn::drop(below, noise_, context, layer), context);
        const Tensor missed = ops::mse(decoder_.layer(layers() - 1 - layer, code, context), below);
        return ops::div(missed, ops::add(mean_square(below), Tensor::full({}, 1e-12, missed.dtype(), missed.device())));
    }

    std::vector<std::string> layer_parameters(std::size_t layer) const override {
        return {text_of("encoder.", layer, "."), text_of("decoder.", layers() - 1 - layer, ".")};
    }

    void visit(const nn::Visitor& visitor) override {
        visitor("encoder", encoder_);
        visitor("decoder", decoder_);
    }

   private:
    std::int64_t input_width_;
    Mlp encoder_, decoder_;
    double noise_;
};

}  // namespace

static std::unique_ptr<Model> autoencoder(const Config& config) {
    std::vector<std::int64_t> widths = read_widths(config, "encoder_widths");
    if (widths.empty()) config.reject("encoder_widths", "needs at least one layer");
    widths.insert(widths.begin(), read_size(config, "input_width"));
    return std::make_unique<Autoencoder>(config, widths, read_activation(config, "activation", "relu"));
}

static constexpr Vision vision{.images = flat_image_processor_config};

static const RegisterArchitecture register_autoencoder(
    {"autoencoder", "Hinton & Salakhutdinov, Reducing the Dimensionality of Data with Neural Networks, 2006",
     autoencoder, &vision});

}  // namespace tessera::models
