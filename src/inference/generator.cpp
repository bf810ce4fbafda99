#include "inference/generator.h"

#include <algorithm>
#include <chrono>

#include "ops/reduce.h"
#include "ops/views.h"
#include "tensor/tape.h"

namespace tessera::inference {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::int64_t prompt_length(const models::Batch& prompt) {
    std::int64_t length = 1;
    for (const Tensor* ids : {&prompt.input_ids, &prompt.decoder_input_ids})
        if (ids->defined()) length = std::max(length, ids->size(1));
    return length;
}

}  // namespace

Generated generate_greedy(const models::Model& model, const models::Batch& prompt, const GenerateOptions& options,
                          const OnToken& on_token) {
    const NoGrad no_grad;
    Generated out;
    if (options.max_new_tokens <= 0) return out;
    const auto start = std::chrono::steady_clock::now();
    const std::unique_ptr<models::Decoding> decoding = model.decode(prompt_length(prompt) + options.max_new_tokens);
    Tensor scores = decoding->read(prompt);  // (B, V)
    const std::int64_t rows = scores.size(0);
    out.tokens.resize(static_cast<std::size_t>(rows));
    std::vector<bool> ended(out.tokens.size(), false);
    auto step_start = start;
    for (std::int64_t step = 0;; ++step) {
        const Tensor next = ops::argmax(scores);
        const std::vector<std::int64_t> chosen = next.to_vector<std::int64_t>();
        if (step == 0) {
            out.read_seconds = seconds_since(start);
            step_start = std::chrono::steady_clock::now();
        }
        // The token just chosen is the last one where no position is left to feed it back at.
        const bool is_full = model.longest_text() > 0 && prompt_length(prompt) + step >= model.longest_text();
        bool goes_on = step + 1 < options.max_new_tokens && !is_full;
        for (std::size_t row = 0; row < ended.size(); ++row) {
            if (ended[row]) continue;
            out.tokens[row].push_back(chosen[row]);
            if (on_token && !on_token(row, chosen[row])) goes_on = false;
            ended[row] =
                std::find(options.stop_ids.begin(), options.stop_ids.end(), chosen[row]) != options.stop_ids.end();
        }
        if (!goes_on || std::all_of(ended.begin(), ended.end(), [](bool over) { return over; })) break;
        scores = decoding->step(ops::reshape(next, {rows, 1}));
        ++out.steps;
    }
    out.step_seconds = seconds_since(step_start);
    out.cache_bytes = decoding->cache_bytes();
    return out;
}

models::Batch batch_of(const std::vector<std::vector<std::int64_t>>& prompts, std::int64_t padding_id) {
    std::size_t longest = 0;
    for (const auto& prompt : prompts) {
        check(!prompt.empty(), "a prompt must have at least one token");
        longest = std::max(longest, prompt.size());
    }
    std::vector<std::int64_t> ids, mask;
    for (const auto& prompt : prompts) {
        ids.insert(ids.end(), longest - prompt.size(), padding_id);
        mask.insert(mask.end(), longest - prompt.size(), 0);
        ids.insert(ids.end(), prompt.begin(), prompt.end());
        mask.insert(mask.end(), prompt.size(), 1);
    }
    const Shape shape{static_cast<std::int64_t>(prompts.size()), static_cast<std::int64_t>(longest)};
    return {.input_ids = Tensor::from(ids, shape), .attention_mask = Tensor::from(mask, shape)};
}

}  // namespace tessera::inference
