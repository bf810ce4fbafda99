#include "tessera/models/mlp.h"

#include <cmath>

#include "tessera/models/settings.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {

Mlp::Mlp(const std::vector<std::int64_t>& widths, nn::Activation activation, bool activate_last)
    : activation_(activation), activate_last_(activate_last) {
    for (std::size_t i = 1; i < widths.size(); ++i) layers.emplace_back(widths[i - 1], widths[i]);
}

Tensor Mlp::forward(const Tensor& x, const nn::Context& context, double dropout) const {
    Tensor stream = x;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        stream = layer(i, stream, context);
        if (i + 1 < layers.size() || activate_last_) stream = nn::drop(stream, dropout, context, i);
    }
    return stream;
}

Tensor Mlp::layer(std::size_t index, const Tensor& x, const nn::Context& context) const {
    const Tensor sum = layers[index].forward(x, context);
    return index + 1 < layers.size() || activate_last_ ? nn::activate(activation_, sum) : sum;
}

Tensor Mlp::below(std::size_t index, const Tensor& x, const nn::Context& context) const {
    const NoGrad no_grad;
    Tensor stream = x;
    for (std::size_t i = 0; i < index; ++i) stream = layer(i, stream, context);
    return stream;
}

void Mlp::visit(const nn::Visitor& visitor) {
    for (std::size_t i = 0; i < layers.size(); ++i) visitor(std::to_string(i), layers[i]);
}

std::vector<std::int64_t> read_widths(const formats::Config& config, const char* field) {
    const std::vector<std::int64_t> widths = config.integers(field);
    if (static_cast<std::int64_t>(widths.size()) > count_limit)
        config.reject(field, text_of("at most ", count_limit, " layers, found ", widths.size()));
    for (const std::int64_t width : widths)
        if (width < 1 || width > size_limit)
            config.reject(field, text_of("expected sizes from 1 to ", size_limit, ", found ", width));
    return widths;
}

formats::ImageProcessorConfig flat_image_processor_config(const formats::Config& config) {
    const std::int64_t width = read_size(config, "input_width");
    formats::ImageProcessorConfig settings{.normalises = false};
    for (const std::int64_t channels : {1, 3}) {
        const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(width / channels))));
        if (side * side * channels != width) continue;
        settings.grey = channels == 1;
        settings.size = {.height = side, .width = side};
        return settings;
    }
    config.reject("input_width", text_of(width, " values are no square image in grey or in three colours"));
}

Tensor flat_images(const Tensor& pixel_values, std::int64_t width) {
    check(pixel_values.defined() && pixel_values.rank() >= 2 && pixel_values.size(0) > 0 &&
              pixel_values.elements() == pixel_values.size(0) * width,
          "pixel_values: expected images of ", width, " values as config.json's input_width says, found ",
          pixel_values.shape());
    return ops::reshape(pixel_values, {pixel_values.size(0), width});
}

}  // namespace tessera::models
