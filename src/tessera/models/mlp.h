// Linear layers one after the other: models of flat images are made of them.
#pragma once

#include "tessera/formats/image/image_processor_config.h"
#include "tessera/nn/context.h"
#include "tessera/nn/feed_forward.h"

namespace tessera::models {

class Mlp : public nn::Module {
   public:
    // From the first width to the last, an activation after every layer, or after every layer but the last.
    Mlp(const std::vector<std::int64_t>& widths, nn::Activation activation, bool activate_last);

    Tensor forward(const Tensor& x, const nn::Context& context, double dropout = 0) const;
    // One of them, with its activation.
    Tensor layer(std::size_t index, const Tensor& x, const nn::Context& context) const;
    // What layer `index` is given, without a gradient.
    Tensor below(std::size_t index, const Tensor& x, const nn::Context& context) const;
    void visit(const nn::Visitor& visitor) override;

    std::vector<nn::Linear> layers;

   private:
    nn::Activation activation_;
    bool activate_last_;
};

// A list of sizes, each at least 1.
std::vector<std::int64_t> read_widths(const formats::Config& config, const char* field);
// Square images of so many values, from 0 to 1: in grey where their number is a square, else in colour.
formats::ImageProcessorConfig flat_image_processor_config(const formats::Config& config);
// (B, …) → (B, width); anything of another size is an error.
Tensor flat_images(const Tensor& pixel_values, std::int64_t width);

}  // namespace tessera::models
