#include "benchmarks/gpt2_step.h"

#include "benchmarks/support.h"
#include "tessera/models/catalog.h"
#include "tessera/tensor/tape.h"

namespace tessera::benchmarks {
namespace {

// The published model, with positions for the texts of a step alone and without dropout, as its peer is.
models::Config gpt2_config() {
    formats::Json fields = models::config_named("gpt2").json();
    fields.set("n_positions", Gpt2Step::length);
    for (const char* dropout : {"attn_pdrop", "embd_pdrop", "resid_pdrop"}) fields.set(dropout, 0.0);
    return {std::move(fields), "configs/gpt2.json"};
}

}  // namespace

Gpt2Step::Gpt2Step() : model_(models::initialised(gpt2_config(), 1)) {
    // The loss shifts the labels itself, so that the last token of each text predicts nothing: the product with the
    // vocabulary has one row in 256 less than the peer's.
    batch_.input_ids = random_ids({batch, length}, model_->config.integer("vocab_size"));
    std::vector<training::Parameter> parameters;
    nn::set_requires_grad(*model_, true);
    for (const nn::NamedTensor& each : nn::parameters(*model_)) parameters.push_back({each.name, *each.tensor});
    buffer_ = std::make_unique<training::ParameterBuffer>(parameters);
    optimizer_ =
        std::make_unique<training::AdamW>(*buffer_, training::AdamWOptions{.beta2 = 0.95, .weight_decay = 0.1});
}

double Gpt2Step::operations() const {
    const std::int64_t layers = model_->config.integer("n_layer"), width = model_->config.integer("n_embd");
    const auto tokens = static_cast<double>(batch * length);
    const auto weights =
        static_cast<double>(12 * layers * width * width + model_->config.integer("vocab_size") * width);
    const auto attention = static_cast<double>(layers * length * width);  // half of 2 · length · width a token
    return 6 * tokens * weights + 7 * tokens * attention;                 // attention: 2 products forward, 5 backward
}

Gpt2Step::Parts Gpt2Step::run() {
    Parts parts;
    Tensor loss;
    parts.forward = seconds_once([&] { loss = model_->loss(batch_, {.training = true}); });
    parts.backward = seconds_once([&] { backward(loss); });
    parts.optimizer = seconds_once([&] {
        optimizer_->step(6e-4);
        buffer_->zero_gradients();
    });
    parts.loss = loss.item();
    return parts;
}

}  // namespace tessera::benchmarks
