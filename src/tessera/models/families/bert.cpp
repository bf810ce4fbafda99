// BERT (Devlin et al. 2018): the encoder of the original Transformer with learned positions and token types, trained to
// fill in masked tokens.
#include "tessera/models/families/bert.h"
#include "tessera/models/architecture.h"

#include "tessera/models/settings.h"

namespace tessera::models {

BertSettings read_bert(const Config& config) {
    const Heads heads = read_heads(config, {.width = 768, .heads = 12});
    if (heads.kv_heads != heads.heads || heads.heads * heads.head_width != heads.width)
        config.reject("num_attention_heads", "heads must split the width evenly, each with its own keys and values");
    if (config.boolean("is_decoder", false)) config.reject("is_decoder", "only the encoder is known");
    if (config.text("position_embedding_type", "absolute") != "absolute")
        config.reject("position_embedding_type", "only 'absolute' is known");
    BertSettings s;
    s.layers = read_count(config, "num_hidden_layers", 12);
    s.norm_eps = read_epsilon(config, "layer_norm_eps", 1e-12);
    s.dropout = read_dropout(config, "hidden_dropout_prob", 0.1);
    s.attention = {.width = heads.width,
                   .heads = heads.heads,
                   .input_bias = true,
                   .output_bias = true,
                   .dropout = read_dropout(config, "attention_probs_dropout_prob", 0.1)};
    s.feed_forward = {.width = heads.width,
                      .hidden = read_size(config, "intermediate_size", 3072),
                      .activation = read_activation(config, "hidden_act", "gelu")};
    return s;
}

MakeAttention bert_attention(const BertSettings& settings) {
    return [settings](std::int64_t) { return std::make_unique<nn::DotProductAttention>(settings.attention); };
}

EncoderParts bert_encoder(const Config& config, const BertSettings& s, std::int64_t default_vocabulary,
                          const MakeAttention& make_attention) {
    const std::int64_t width = s.attention.width;
    EncoderParts parts{.vocabulary = read_size(config, "vocab_size", default_vocabulary),
                       .width = width,
                       .positions = read_size(config, "max_position_embeddings", 512),
                       .token_types = read_size(config, "type_vocab_size", 2),
                       .norm_eps = s.norm_eps,
                       .dropout = s.dropout,
                       .has_head = has_masked_head(config),
                       .head_activation = s.feed_forward.activation,
                       .tied = config.boolean("tie_word_embeddings", true),
                       .classes = read_text_classes(config),
                       .classifier_dropout = read_dropout(config, "classifier_dropout", s.dropout)};
    parts.unlearned_id = read_padding(config, 0, parts.vocabulary);
    for (std::int64_t layer = 0; layer < s.layers; ++layer) {
        nn::BlockParts block;
        block.attention = make_attention(layer);
        block.attention_norm = std::make_unique<nn::LayerNorm>(width, s.norm_eps);
        block.feed_forward = std::make_unique<nn::FeedForward>(s.feed_forward);
        block.feed_forward_norm = std::make_unique<nn::LayerNorm>(width, s.norm_eps);
        block.dropout = s.dropout;
        parts.blocks.push_back(std::make_unique<nn::PostNormBlock>(std::move(block)));
    }
    return parts;
}

WeightTable bert_weights(const std::string& prefix) {
    const std::string embeddings = prefix + "embeddings.", layer = prefix + "encoder.layer.*.";
    return {.names = {{"tokens", embeddings + "word_embeddings"},
                      {"positions", embeddings + "position_embeddings"},
                      {"token_types", embeddings + "token_type_embeddings"},
                      {"embedding_norm", embeddings + "LayerNorm"},
                      {"layers.*.attention.query", layer + "attention.self.query"},
                      {"layers.*.attention.key", layer + "attention.self.key"},
                      {"layers.*.attention.value", layer + "attention.self.value"},
                      {"layers.*.attention.output", layer + "attention.output.dense"},
                      {"layers.*.attention_norm", layer + "attention.output.LayerNorm"},
                      {"layers.*.feed_forward.up", layer + "intermediate.dense"},
                      {"layers.*.feed_forward.down", layer + "output.dense"},
                      {"layers.*.feed_forward_norm", layer + "output.LayerNorm"}},
            .ignored = {"*embeddings.position_ids", "*embeddings.token_type_ids", "*pooler.dense.*"},
            .aliases = {{"LayerNorm.gamma", "LayerNorm.weight"}, {"LayerNorm.beta", "LayerNorm.bias"}},
            .optional_prefix = prefix};
}

void name_decoder(WeightTable& weights, const std::string& head, bool tied) {
    weights.names.insert(weights.names.end(),
                         {{"head.decoder", head + "decoder"}, {"head.bias", head + (tied ? "bias" : "decoder.bias")}});
    weights.ignored.push_back(head + (tied ? "decoder.*" : "bias"));
}

static std::unique_ptr<Model> bert(const Config& config) {
    const BertSettings settings = read_bert(config);
    WeightTable weights = bert_weights("bert.");
    const std::string head = "cls.predictions.";
    weights.names.insert(weights.names.end(), {{"head.dense", head + "transform.dense"},
                                               {"head.norm", head + "transform.LayerNorm"},
                                               {"classifier.dense", "bert.pooler.dense"},
                                               {"classifier.output", "classifier"}});
    weights.ignored.push_back("cls.seq_relationship.*");
    EncoderParts parts = bert_encoder(config, settings, 30522, bert_attention(settings));
    name_decoder(weights, head, parts.tied);
    return std::make_unique<Encoder>(config, std::move(parts), std::move(weights));
}

static const RegisterArchitecture register_bert(
    {"bert", "Devlin et al., BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding, 2018",
     bert});

}  // namespace tessera::models
