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

// The shorter of what the folder allows and what the model has positions for; 0: no limit.
std::int64_t longest_text(const models::Pooling& pooling, const models::Model& model) {
    const std::int64_t positions = model.longest_text(), allowed = pooling.longest_text;
    return positions == 0 || allowed == 0 ? std::max(positions, allowed) : std::min(positions, allowed);
}

}  // namespace

SentenceEncoder::SentenceEncoder(const models::OpenedModel& model)
    : model_(model), pooling_(pooling_of(model)), longest_(longest_text(pooling_, *model.model)) {}

Tensor SentenceEncoder::embed(const std::vector<std::string>& texts) const {
    const NoGrad no_grad;
    check(!texts.empty(), "embed: no texts");
    std::vector<std::vector<std::int64_t>> ids;
    for (const std::string& text : texts) {
        ids.push_back(longest_ > 0 ? model_.text().encode_at_most(text, longest_) : model_.text().encode(text));
        check(!ids.back().empty(), "embed: text ", ids.size(), " has no tokens");
    }
    models::Batch batch = batch_of(ids, model_.settings.padding.value_or(0), Side::Right);
    batch.input_ids = batch.input_ids.to(model_.device);
    batch.attention_mask = batch.attention_mask.to(model_.device);
    Tensor hidden;
    model_.model->forward(batch, {}, [&](const std::string& name, const Tensor& value) {
        if (name == "last_hidden") hidden = value;
    });
    check(hidden.defined(), model_.path.string(), ": model_type '", model_.config.text("model_type", "?"),
          "' has no hidden states to pool");
    return models::sentence_embedding(hidden, batch.attention_mask, pooling_).to(cpu).to(DType::F32);
}

}  // namespace tessera::inference
