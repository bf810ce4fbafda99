// A decoder whose reference is plain torch: no folder of the Hub, but "param.NAME" tensors and a few settings in the
// metadata. It becomes a checkpoint in memory and is checked like any model.
#include "tessera/models/catalog.h"
#include "tessera/parity/comparison.h"
#include "tessera/parity/model.h"

namespace tessera::parity {

void check_plain_decoder(const Case& run) {
    formats::Checkpoint checkpoint;
    checkpoint.folder = run.folder;
    constexpr std::int64_t most = 1 << 20;
    const auto whole = [&](const char* name) { return run.whole(name, most); };
    const Tensor& embedding = run.tensor("param.embed", Values::Floats, {any, any});
    formats::Json config = formats::Json::object();
    config.set("model_type", models::parallel_decoder_type)
        .set("vocab_size", embedding.size(0))
        .set("hidden_size", embedding.size(1))
        .set("num_hidden_layers", whole("layers"))
        .set("num_attention_heads", whole("heads"))
        .set("num_key_value_heads", whole("kv_heads"))
        .set("head_dim", whole("head_dim"))
        .set("intermediate_size", run.tensor("param.l0.w_up", Values::Floats, {any, any}).size(0));
    checkpoint.config = formats::Config(config, (run.folder / "expected.safetensors").string());
    for (const auto& [name, tensor] : run.expected.tensors)
        if (name.starts_with("param.")) checkpoint.tensors[name.substr(6)] = tensor;
    const std::unique_ptr<models::Model> model = models::load(checkpoint);
    check_model(run, *model);
}

}  // namespace tessera::parity
