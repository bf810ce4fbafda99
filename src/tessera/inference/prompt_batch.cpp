#include "tessera/inference/prompt_batch.h"

#include <algorithm>

namespace tessera::inference {

models::Batch batch_of(const std::vector<std::vector<std::int64_t>>& prompts, std::int64_t padding_id, Side side) {
    std::size_t longest = 0;
    for (const auto& prompt : prompts) {
        check(!prompt.empty(), "a prompt must have at least one token");
        longest = std::max(longest, prompt.size());
    }
    std::vector<std::int64_t> ids, mask;
    for (const auto& prompt : prompts) {
        const std::size_t before = side == Side::Left ? longest - prompt.size() : 0;
        const std::size_t after = longest - prompt.size() - before;
        ids.insert(ids.end(), before, padding_id);
        mask.insert(mask.end(), before, 0);
        ids.insert(ids.end(), prompt.begin(), prompt.end());
        mask.insert(mask.end(), prompt.size(), 1);
        ids.insert(ids.end(), after, padding_id);
        mask.insert(mask.end(), after, 0);
    }
    const Shape shape{static_cast<std::int64_t>(prompts.size()), static_cast<std::int64_t>(longest)};
    return {.input_ids = Tensor::from(ids, shape), .attention_mask = Tensor::from(mask, shape)};
}

std::int64_t prompt_length(const models::Model& model, const models::Batch& prompt) {
    const Tensor& ids = model.has_encoder() ? prompt.decoder_input_ids : prompt.input_ids;
    check(!ids.defined() || ids.rank() == 2, "input_ids: expected (B, T), found ", ids.shape());
    return ids.defined() ? ids.size(1) : 1;
}

PromptTooLong::PromptTooLong(std::int64_t prompt_tokens, std::int64_t context_tokens, bool all_are_counted)
    : Error(text_of("input_ids: a prompt of ", all_are_counted ? "" : "more than ", prompt_tokens,
                    " tokens is longer than the context of ", context_tokens)),
      tokens(prompt_tokens),
      context(context_tokens),
      is_all(all_are_counted) {}

std::string PromptTooLong::count() const { return text_of(is_all ? "" : "more than ", tokens); }

std::int64_t fitting_new_tokens(const std::vector<History>& prompts, std::int64_t context, std::int64_t wanted) {
    if (context == 0) return wanted;
    std::int64_t room = 1;
    for (const History& prompt : prompts) {
        const auto length = static_cast<std::int64_t>(prompt.ids.size());
        if (length > context) throw PromptTooLong(length, context);
        room = std::max(room, context - length + 1);
    }
    return std::min(room, wanted);
}

std::vector<History> histories_of(const models::Model& model, const models::Batch& prompt) {
    const Tensor& tensor = model.has_encoder() ? prompt.decoder_input_ids : prompt.input_ids;
    const Tensor& mask = model.has_encoder() ? prompt.decoder_attention_mask : prompt.attention_mask;
    if (!tensor.defined()) {  // the model begins with a token of its own, which no rule may change
        constexpr std::int64_t some_token = -1;
        return std::vector<History>(static_cast<std::size_t>(prompt.input_ids.size(0)), {{some_token}, 1});
    }
    const std::vector<std::int64_t> ids = tensor.to_vector<std::int64_t>();
    const std::vector<std::int64_t> is_token =
        mask.defined() ? mask.to_vector<std::int64_t>() : std::vector<std::int64_t>(ids.size(), 1);
    std::vector<History> histories(static_cast<std::size_t>(tensor.size(0)));
    for (std::size_t i = 0; i < ids.size() && i < is_token.size(); ++i)
        if (is_token[i] != 0) histories[i / static_cast<std::size_t>(tensor.size(1))].ids.push_back(ids[i]);
    for (History& history : histories) history.prompt = history.ids.size();
    return histories;
}

std::vector<History> histories_of(const models::Model& model, const models::Batch& prompt,
                                  const std::vector<std::vector<std::int64_t>>& ids) {
    if (model.has_encoder()) return histories_of(model, prompt);
    return histories_of(ids);
}

std::vector<History> histories_of(std::vector<std::vector<std::int64_t>> prompts) {
    std::vector<History> histories;
    for (std::vector<std::int64_t>& ids : prompts) {
        const std::size_t count = ids.size();
        histories.push_back({.ids = std::move(ids), .prompt = count});
    }
    return histories;
}

}  // namespace tessera::inference
