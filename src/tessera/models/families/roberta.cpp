// RoBERTa (Liu et al. 2019): BERT trained longer. Positions begin behind the padding id, at which padding itself
// stands, and the head has other names.
#include "tessera/models/architecture.h"
#include "tessera/models/families/bert.h"
#include "tessera/models/settings.h"

namespace tessera::models {

void make_roberta(const Config& config, EncoderParts& parts, WeightTable& weights) {
    const std::int64_t padding = read_token(config, "pad_token_id", 1, parts.vocabulary);
    if (padding + 1 >= parts.positions)
        config.reject("max_position_embeddings",
                      text_of(parts.positions, " leaves no position behind the padding id ", padding));
    parts.padding_id = parts.unlearned_id = padding;
    parts.head_activation = nn::Activation::Gelu;
    weights.names.insert(weights.names.end(), {{"head.dense", "lm_head.dense"},
                                               {"head.norm", "lm_head.layer_norm"},
                                               {"classifier.dense", "classifier.dense"},
                                               {"classifier.output", "classifier.out_proj"}});
    parts.drops_first_state = true;
    name_decoder(weights, "lm_head.", parts.tied);
}

static std::unique_ptr<Model> roberta(const Config& config) {
    const BertSettings settings = read_bert(config);
    EncoderParts parts = bert_encoder(config, settings, 50265, bert_attention(settings));
    WeightTable weights = bert_weights("roberta.");
    make_roberta(config, parts, weights);
    return std::make_unique<Encoder>(config, std::move(parts), std::move(weights));
}

static const RegisterArchitecture register_roberta(
    {"roberta", "Liu et al., RoBERTa: A Robustly Optimized BERT Pretraining Approach, 2019", roberta});

}  // namespace tessera::models
