// Longformer (Beltagy et al. 2020): RoBERTa whose tokens see a window, beside the few that global_attention_mask marks,
// which see and are seen by all through projections of their own.
#include "tessera/models/architecture.h"
#include "tessera/models/families/bert.h"
#include "tessera/models/settings.h"
#include "tessera/nn/attention/global_local.h"

namespace tessera::models {
namespace {

// One window for all layers, or one for each.
std::vector<std::int64_t> read_windows(const Config& config, std::int64_t layers) {
    const formats::Json* field = config.json().find("attention_window");
    std::vector<std::int64_t> windows;
    if (field && field->is_array())
        windows = config.integers("attention_window");
    else
        windows.assign(static_cast<std::size_t>(layers), config.positive("attention_window", 512));
    if (static_cast<std::int64_t>(windows.size()) != layers)
        config.reject("attention_window", text_of(windows.size(), " windows for ", layers, " layers"));
    for (const std::int64_t window : windows)
        if (window <= 0 || window > size_limit || window % 2 != 0)
            config.reject("attention_window",
                          text_of("a window must be even, above 0 and at most ", size_limit, ", found ", window));
    return windows;
}

}  // namespace

static std::unique_ptr<Model> longformer(const Config& config) {
    const BertSettings settings = read_bert(config);
    const std::vector<std::int64_t> windows = read_windows(config, settings.layers);
    EncoderParts parts = bert_encoder(config, settings, 30522, [&](std::int64_t layer) {
        return std::make_unique<nn::GlobalLocalAttention>(
            nn::GlobalLocalSettings{.width = settings.attention.width,
                                    .heads = settings.attention.heads,
                                    .window = windows[static_cast<std::size_t>(layer)]});
    });
    parts.first_sees_all = true;
    WeightTable weights = bert_weights("longformer.");
    make_roberta(config, parts, weights);
    const std::string self = "longformer.encoder.layer.*.attention.self.";
    weights.names.insert(weights.names.end(), {{"layers.*.attention.global_query", self + "query_global"},
                                               {"layers.*.attention.global_key", self + "key_global"},
                                               {"layers.*.attention.global_value", self + "value_global"}});
    return std::make_unique<Encoder>(config, std::move(parts), std::move(weights));
}

static const RegisterArchitecture register_longformer(
    {"longformer", "Beltagy et al., Longformer: The Long-Document Transformer, 2020", longformer});

}  // namespace tessera::models
