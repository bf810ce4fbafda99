#include "tessera/inference/prompt.h"

#include "tessera/inference/generator.h"

namespace tessera::inference {

std::vector<std::int64_t> ids_of(const models::OpenedModel& model, const Prompt& prompt) {
    if (!prompt.ids.empty()) return prompt.ids;
    std::vector<std::int64_t> ids = model.text().encode(prompt.text, !prompt.is_whole);
    if (!ids.empty()) return ids;
    const std::optional<std::int64_t> first = model.text().special.bos ? model.text().special.bos : model.settings.bos;
    check(first.has_value(), "the prompt is empty, and ", model.path.string(), " names no token to begin a text with");
    return {*first};
}

models::Batch batch_for(const models::OpenedModel& model, const std::vector<Prompt>& prompts) {
    std::vector<std::vector<std::int64_t>> ids;
    for (const Prompt& prompt : prompts) ids.push_back(ids_of(model, prompt));
    const bool has_encoder = model.model->has_encoder();
    models::Batch batch = batch_of(ids, model.settings.padding.value_or(0), has_encoder ? Side::Right : Side::Left);
    batch.input_ids = batch.input_ids.to(model.device);
    batch.attention_mask = batch.attention_mask.to(model.device);
    if (has_encoder && model.settings.decoder_start)
        batch.decoder_input_ids = Tensor::full({static_cast<std::int64_t>(ids.size()), 1},
                                               static_cast<double>(*model.settings.decoder_start), DType::I64)
                                      .to(model.device);
    return batch;
}

}  // namespace tessera::inference
