#include "tessera/inference/prompt.h"

#include "tessera/inference/prompt_batch.h"

namespace tessera::inference {

namespace {

// Up to here the error says how many tokens a prompt has that is too long.
constexpr std::size_t quickly_counted = 1 << 16;

std::vector<std::int64_t> encoded(const models::OpenedModel& model, const Prompt& prompt, std::int64_t most) {
    std::vector<std::int64_t> ids;
    ids.reserve(prompt.text.size() / (most == 0 ? 4 : 16));
    model.text().encode_in_parts(
        prompt.text,
        [&](std::span<const std::int64_t> part) {
            const auto count = static_cast<std::int64_t>(ids.size());
            if (most > 0 && count > most && ids.size() >= quickly_counted) throw PromptTooLong(count, most, false);
            ids.insert(ids.end(), part.begin(), part.end());
        },
        !prompt.is_whole);
    return ids;
}

}  // namespace

std::vector<std::int64_t> ids_of(const models::OpenedModel& model, const Prompt& prompt, std::int64_t most) {
    if (!prompt.ids.empty()) return prompt.ids;
    std::vector<std::int64_t> ids = encoded(model, prompt, most);
    if (!ids.empty()) return ids;
    const std::optional<std::int64_t> first = model.text().special.bos ? model.text().special.bos : model.settings.bos;
    check(first.has_value(), "the prompt is empty, and ", model.path.string(), " names no token to begin a text with");
    return {*first};
}

models::Batch batch_for(const models::OpenedModel& model, const std::vector<Prompt>& prompts) {
    std::vector<std::vector<std::int64_t>> ids;
    for (const Prompt& prompt : prompts) ids.push_back(ids_of(model, prompt));
    return batch_for_ids(model, ids);
}

models::Batch batch_for_ids(const models::OpenedModel& model, const std::vector<std::vector<std::int64_t>>& ids) {
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
