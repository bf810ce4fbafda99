#include "tessera/inference/sentence_encoder.h"

#include <algorithm>

#include "tessera/inference/generator.h"
#include "tessera/tensor/tape.h"

namespace tessera::inference {
namespace {

models::Pooling pooling_of(const models::OpenedModel& model) {
    const std::filesystem::path& folder = model.sidecar_files.pooling;
    return folder.empty() ? models::Pooling{} : models::read_pooling(folder);
}

// The shorter of what the folder allows and the model's context; 0: no limit.
std::int64_t longest_text(const models::Pooling& pooling, const models::Model& model) {
    const std::int64_t context = model.context_length(), allowed = pooling.longest_text;
    return context == 0 || allowed == 0 ? std::max(context, allowed) : std::min(context, allowed);
}

}  // namespace

SentenceEncoder::SentenceEncoder(const models::OpenedModel& model)
    : model_(model), pooling_(pooling_of(model)), longest_(longest_text(pooling_, *model.model)) {}

EmbeddedTexts SentenceEncoder::embed(const std::vector<std::string>& texts) const {
    const NoGrad no_grad;
    check(!texts.empty(), "embed: no texts");
    ReadTexts rows = read_texts(model_, texts, longest_);
    models::Batch batch = batch_of(rows.ids, model_.settings.padding.value_or(0), Side::Right);
    batch.input_ids = batch.input_ids.to(model_.device);
    batch.attention_mask = batch.attention_mask.to(model_.device);
    Tensor hidden;
    model_.model->forward(batch, {}, [&](const std::string& name, const Tensor& value) {
        if (name == "last_hidden") hidden = value;
    });
    check(hidden.defined(), model_.path.string(), ": model_type '", model_.config.text("model_type", "?"),
          "' has no hidden states to pool");
    return {models::sentence_embedding(hidden, batch.attention_mask, pooling_).to(cpu).to(DType::F32),
            std::move(rows.read)};
}

}  // namespace tessera::inference
