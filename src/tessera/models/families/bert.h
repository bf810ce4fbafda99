// The parts of BERT, for the families that change one of them.
#pragma once

#include "tessera/models/encoder.h"
#include "tessera/nn/attention/dot_product.h"
#include "tessera/nn/feed_forward.h"

namespace tessera::models {

struct BertSettings {
    std::int64_t layers = 0;
    nn::DotProductSettings attention = {};
    nn::FeedForwardSettings feed_forward = {};
    double norm_eps = 1e-12, dropout = 0;
};

BertSettings read_bert(const Config& config);

using MakeAttention = std::function<std::unique_ptr<nn::SelfAttention>(std::int64_t layer)>;
EncoderParts bert_encoder(const Config& config, const BertSettings& settings, std::int64_t default_vocabulary,
                          const MakeAttention& make_attention);
MakeAttention bert_attention(const BertSettings& settings);
// What follows the prefix ("bert.") in all of them. The pooler over the first token has a part in a classifier only.
WeightTable bert_weights(const std::string& prefix);
// The names of the last layer of a head for masked tokens: `head` + "bias" stands beside the embeddings where they are
// the decoder too, and is left over where the decoder has weights, and with them a bias, of its own.
void name_decoder(WeightTable& weights, const std::string& head, bool tied);

// Positions counted past the padding id and the head of RoBERTa, with its names.
void make_roberta(const Config& config, EncoderParts& parts, WeightTable& weights);

}  // namespace tessera::models
