#include "tessera/evaluation/perplexity.h"

#include <algorithm>
#include <cmath>

#include "tessera/tensor/tape.h"
#include "tessera/text/utf8.h"

namespace tessera::evaluation {
namespace {

constexpr std::int64_t usual_window = 1024, ignored = -100;

std::int64_t window_for(const models::OpenedModel& model, const ScoreOptions& options) {
    const std::int64_t context = model.model->context_length(), positions = model.model->longest_text();
    const std::int64_t usual = context > 0 ? std::min(context, usual_window) : usual_window;
    const std::int64_t window = options.window > 0 ? options.window : usual;
    check(window > 1, "a window of ", window, " tokens predicts nothing");
    check(positions == 0 || window <= positions, "a window of ", window, " tokens is longer than the model's ",
          positions, " positions");
    check(context == 0 || window <= context || options.beyond_context, "a window of ", window,
          " tokens is longer than the model's context of ", context);
    return window;
}

}  // namespace

double Score::perplexity() const { return std::exp(negative_log_likelihood / static_cast<double>(tokens)); }
double Score::bits_per_byte() const { return negative_log_likelihood / std::log(2.0) / static_cast<double>(bytes); }

double Score::bits_per_character() const {
    return negative_log_likelihood / std::log(2.0) / static_cast<double>(characters);
}

Score score_text(const models::OpenedModel& model, std::string_view text, const ScoreOptions& options) {
    const NoGrad no_grad;
    model.model->require(models::Capability::Score, model.path.string());
    std::vector<std::int64_t> ids = model.text().encode(text);
    const std::optional<std::int64_t> bos = model.text().special.bos;
    if (bos && (ids.empty() || ids.front() != *bos)) ids.insert(ids.begin(), *bos);
    const auto count = static_cast<std::int64_t>(ids.size());
    check(count > 1, options.source, ": ", count, count == 1 ? " token" : " tokens", ": nothing to predict");
    const std::int64_t window = window_for(model, options);
    const std::int64_t stride = options.stride > 0 ? options.stride : std::max<std::int64_t>(1, window / 2);
    check(stride < window, "a stride of ", stride, " leaves gaps between windows of ", window, " tokens");

    Score score{.bytes = static_cast<std::int64_t>(text.size()), .characters = text::character_count(text)};
    std::int64_t predicted = 1;  // the first token has nothing before it
    for (std::int64_t begin = 0; predicted < count; begin += stride) {
        const std::int64_t end = std::min(begin + window, count);
        const std::vector<std::int64_t> inputs(ids.begin() + begin, ids.begin() + end);
        std::vector<std::int64_t> labels = inputs;
        std::fill(labels.begin(), labels.begin() + (predicted - begin), ignored);
        models::Batch batch;
        batch.input_ids = Tensor::from(inputs, {1, end - begin}).to(model.device);
        batch.labels = Tensor::from(labels, {1, end - begin}).to(model.device);
        const std::int64_t fresh = end - predicted;
        score.negative_log_likelihood += model.model->loss(batch).item() * static_cast<double>(fresh);
        score.tokens += fresh;
        predicted = end;
        if (options.on_progress) options.on_progress(predicted, count);
    }
    return score;
}

}  // namespace tessera::evaluation
