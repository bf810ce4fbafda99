// Marian's translation models (Junczys-Dowmunt et al. 2018): the original Transformer (Vaswani et al. 2017) with
// sinusoidal positions and a norm after each sum.
#include "tessera/models/architecture.h"
#include "tessera/models/families/bart.h"
#include "tessera/models/settings.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/sinusoidal.h"
#include "tessera/ops/views.h"

namespace tessera::models {
namespace {

// All sines stand before all cosines.
Tensor positions_by_halves(std::int64_t count, std::int64_t width) {
    const Tensor pairs = ops::sinusoidal_positions(count, width);
    return ops::concat({ops::slice(pairs, 1, 0, width, 2), ops::slice(pairs, 1, 1, width, 2)}, 1);
}

}  // namespace

static std::unique_ptr<Model> marian(const Config& config) {
    EncoderDecoderParts parts =
        bart_parts(config, {.vocabulary = 58101, .decoder_start_id = 58100, .padding_id = 58100});
    const std::int64_t longest = read_size(config, "max_position_embeddings", 1024);
    if (longest * parts.width > size_limit)  // the one table that is made, not loaded
        config.reject("max_position_embeddings",
                      text_of(longest, " positions of width ", parts.width, " are more than ", size_limit, " values"));
    const Tensor positions = positions_by_halves(longest, parts.width);
    parts.encoder_input.fixed_positions = parts.decoder_input.fixed_positions = positions;
    WeightTable weights = bart_weights();
    weights.ignored.push_back("model.*coder.embed_positions.weight");  // older checkpoints keep the sinusoids
    const std::int64_t decoder_vocabulary = read_size(config, "decoder_vocab_size", parts.vocabulary);
    if (config.boolean("share_encoder_decoder_embeddings", true)) {
        if (decoder_vocabulary != parts.vocabulary)
            config.reject("decoder_vocab_size",
                          text_of("a shared embedding has ", parts.vocabulary, " tokens, not ", decoder_vocabulary));
    } else {
        parts.decoder_vocabulary = decoder_vocabulary;
        for (const char* field : {"pad_token_id", "decoder_start_token_id"})
            read_token(config, field, 58100, decoder_vocabulary);
        weights.aliases.clear();
        weights.names[0].theirs = "model.encoder.embed_tokens";
        weights.names.push_back({"decoder_tokens", "model.decoder.embed_tokens"});
    }
    return std::make_unique<EncoderDecoder>(config, std::move(parts), std::move(weights));
}

static const RegisterArchitecture register_marian(
    {"marian", "Vaswani et al., Attention Is All You Need, 2017; Junczys-Dowmunt et al., Marian, 2018", marian});

}  // namespace tessera::models
