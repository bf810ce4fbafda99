// One function per architecture, each in a file of its own: config.json's fields in, a model without memory out.
#pragma once

#include <memory>

#include "models/model.h"

namespace tessera::models {

std::unique_ptr<Model> autoencoder(const Config& config);
std::unique_ptr<Model> bahdanau(const Config& config);
std::unique_ptr<Model> bart(const Config& config);
std::unique_ptr<Model> bert(const Config& config);
std::unique_ptr<Model> deepseek_v2(const Config& config);
std::unique_ptr<Model> falcon(const Config& config);
std::unique_ptr<Model> gemma(const Config& config);
std::unique_ptr<Model> gemma2(const Config& config);
std::unique_ptr<Model> gemma3_text(const Config& config);
std::unique_ptr<Model> gpt2(const Config& config);
std::unique_ptr<Model> gpt_neox(const Config& config);
std::unique_ptr<Model> llama(const Config& config);
std::unique_ptr<Model> longformer(const Config& config);
std::unique_ptr<Model> marian(const Config& config);
std::unique_ptr<Model> mistral(const Config& config);
std::unique_ptr<Model> mixtral(const Config& config);
std::unique_ptr<Model> mlp_classifier(const Config& config);
std::unique_ptr<Model> ngram(const Config& config);
std::unique_ptr<Model> paligemma(const Config& config);
std::unique_ptr<Model> palm(const Config& config);
std::unique_ptr<Model> phi3(const Config& config);
std::unique_ptr<Model> qwen2(const Config& config);
std::unique_ptr<Model> qwen3(const Config& config);
std::unique_ptr<Model> rnn_lm(const Config& config);
std::unique_ptr<Model> roberta(const Config& config);
std::unique_ptr<Model> siglip(const Config& config);
std::unique_ptr<Model> siglip_vision_model(const Config& config);
std::unique_ptr<Model> t5(const Config& config);
std::unique_ptr<Model> vit(const Config& config);

}  // namespace tessera::models
