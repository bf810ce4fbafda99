#include "benchmarks/gpt2_step.h"

#include "benchmarks/support.h"
#include "tessera/ops/attention.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/cross_entropy.h"
#include "tessera/ops/gather.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/norm.h"
#include "tessera/ops/unary.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::benchmarks {

double Gpt2Sizes::operations() const {
    const auto tokens = static_cast<double>(batch * length);
    const auto weights = static_cast<double>(12 * layers * width * width + vocabulary * width);
    const auto attention = static_cast<double>(layers * length * width);  // half of 2 · length · width a token
    return 6 * tokens * weights + 7 * tokens * attention;                 // attention: 2 products forward, 5 backward
}

Gpt2Step::Gpt2Step(const Gpt2Sizes& sizes) : sizes_(sizes) {
    tokens_ = make_normal({sizes.vocabulary, sizes.width});
    positions_ = make_normal({sizes.length, sizes.width});
    for (std::int64_t i = 0; i < sizes.layers; ++i)
        layers_.push_back({.attention_norm = make_norm(),
                           .feed_forward_norm = make_norm(),
                           .query_key_value = make_linear(sizes.width, 3 * sizes.width),
                           .attention_out = make_linear(sizes.width, sizes.width),
                           .up = make_linear(sizes.width, 4 * sizes.width),
                           .down = make_linear(4 * sizes.width, sizes.width)});
    norm_ = make_norm();
    const Tensor ids = random_ids({sizes.batch, sizes.length + 1}, sizes.vocabulary);
    inputs_ = ops::slice(ids, 1, 0, sizes.length).clone();
    targets_ = ops::slice(ids, 1, 1, sizes.length + 1).clone();

    std::vector<training::Parameter> parameters{{"tokens", tokens_}, {"positions", positions_}};
    for (Layer& layer : layers_) {
        for (Norm* norm : {&layer.attention_norm, &layer.feed_forward_norm}) {
            parameters.push_back({"norm.weight", norm->weight});
            parameters.push_back({"norm.bias", norm->bias});
        }
        for (Linear* linear : {&layer.query_key_value, &layer.attention_out, &layer.up, &layer.down}) {
            parameters.push_back({"linear.weight", linear->weight});
            parameters.push_back({"linear.bias", linear->bias});
        }
    }
    parameters.push_back({"norm.weight", norm_.weight});
    parameters.push_back({"norm.bias", norm_.bias});
    buffer_ = std::make_unique<training::ParameterBuffer>(parameters);
    optimizer_ =
        std::make_unique<training::AdamW>(*buffer_, training::AdamWOptions{.beta2 = 0.95, .weight_decay = 0.1});
}

Tensor Gpt2Step::make_normal(const Shape& shape) {
    constexpr double deviation = 0.02, of_uniform = 0.57735;  // a uniform number in (−1, 1) deviates by 1/√3
    Tensor values = ops::scale(random_tensor(shape, DType::F32, seed_++), deviation / of_uniform);
    return values.set_requires_grad();
}

Gpt2Step::Linear Gpt2Step::make_linear(std::int64_t in, std::int64_t out) {
    Tensor bias = Tensor::zeros({out});
    return {make_normal({out, in}), bias.set_requires_grad()};
}

Gpt2Step::Norm Gpt2Step::make_norm() {
    Tensor weight = Tensor::full({sizes_.width}, 1), bias = Tensor::zeros({sizes_.width});
    return {weight.set_requires_grad(), bias.set_requires_grad()};
}

Tensor Gpt2Step::attention(const Layer& layer, const Tensor& x) const {
    const std::int64_t width = sizes_.width, heads = sizes_.heads;
    const Tensor mixed = ops::linear(x, layer.query_key_value.weight, layer.query_key_value.bias);
    std::vector<Tensor> parts = ops::split(mixed, {width, width, width}, -1);
    for (Tensor& part : parts)
        part = ops::reshape(part, {sizes_.batch, sizes_.length, heads, width / heads});  // (B, T, H, D)
    const Tensor out = ops::attention(parts[0], parts[1], parts[2], {.mask = ops::AttentionMask::causal()});
    return ops::linear(ops::reshape(out, x.shape()), layer.attention_out.weight, layer.attention_out.bias);
}

Tensor Gpt2Step::loss() const {
    Tensor x = ops::add(ops::embedding(tokens_, inputs_), positions_);
    // A block's sum and the norm that follows it are one op.
    Tensor normed = ops::layer_norm(x, layers_[0].attention_norm.weight, layers_[0].attention_norm.bias);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        const Layer& layer = layers_[i];
        const auto middle = ops::add_layer_norm(attention(layer, normed), x, layer.feed_forward_norm.weight,
                                                layer.feed_forward_norm.bias);
        const Tensor hidden = ops::gelu_tanh(ops::linear(middle.normed, layer.up.weight, layer.up.bias));
        const Norm& next = i + 1 < layers_.size() ? layers_[i + 1].attention_norm : norm_;
        const auto end = ops::add_layer_norm(ops::linear(hidden, layer.down.weight, layer.down.bias), middle.sum,
                                             next.weight, next.bias);
        x = end.sum;
        normed = end.normed;
    }
    return ops::linear_cross_entropy(normed, tokens_, targets_);
}

Gpt2Step::Parts Gpt2Step::run() {
    Parts parts;
    Tensor value;
    parts.forward = seconds_once([&] { value = loss(); });
    parts.backward = seconds_once([&] { backward(value); });
    parts.optimizer = seconds_once([&] {
        optimizer_->step(6e-4);
        buffer_->zero_gradients();
    });
    parts.loss = value.item();
    return parts;
}

}  // namespace tessera::benchmarks
