#include "tessera/models/ngram/smoothed_ngram.h"

#include <algorithm>
#include <cmath>

#include "tessera/core/parallel.h"
#include "tessera/models/next_token.h"
#include "tessera/models/settings.h"
#include "tessera/models/token_rows.h"
#include "tessera/models/window_decoding.h"

namespace tessera::models {
namespace {

constexpr std::int64_t highest_order = 32;

SmoothingSettings read_smoothing(const Config& config) {
    SmoothingSettings settings{.order = read_count(config, "order"),
                               .vocabulary = read_vocabulary(config, "vocabulary_size"),
                               .k = config.number("k", 0.1),
                               .discount = config.number("discount", 0)};
    const std::string kind = config.text("smoothing");
    if (kind != "add_k" && kind != "kneser_ney")
        config.reject("smoothing", text_of("expected add_k or kneser_ney, found \"", kind, "\""));
    settings.kind = kind == "add_k" ? Smoothing::AddK : Smoothing::KneserNey;
    if (settings.order > highest_order)
        config.reject("order", text_of("expected 1 to ", highest_order, ", found ", settings.order));
    if (!(settings.k >= 0 && settings.k <= 1e6)) config.reject("k", text_of("expected 0 to 1e6, found ", settings.k));
    if (!(settings.discount >= 0 && settings.discount <= 1))
        config.reject("discount", text_of("expected 0 to 1, found ", settings.discount));
    return settings;
}

}  // namespace

SmoothedNgram::SmoothedNgram(const Config& given)
    : settings_(read_smoothing(given)), tree_(given.positive("contexts", 1), given.positive("entries", 1)) {
    config = given;
    capabilities = {Capability::Generate, Capability::Score, Capability::Count};
    weights.names = {{"contexts", "contexts"}};
}

void SmoothedNgram::score(const ContextTree::Reader& tree, const std::int64_t* begin, const std::int64_t* end,
                          std::span<float> logits) const {
    std::vector<double> probabilities(logits.size(), 1 / static_cast<double>(logits.size()));
    const bool interpolates = settings_.kind == Smoothing::KneserNey;
    const std::int64_t wanted = std::min<std::int64_t>(settings_.order - 1, end - begin);
    std::int64_t node = ContextTree::Reader::root;
    for (std::int64_t length = 0; node != ContextTree::Reader::none; ++length) {
        if (interpolates || length == wanted) tree.refine(node, probabilities);
        if (length == wanted) break;
        node = tree.child(node, *(end - 1 - length));
    }
    for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(std::log(probabilities[i]));
}

Tensor SmoothedNgram::forward(const Batch& batch, const nn::Context& context, const Observer&) const {
    const std::vector<std::int64_t> ids = checked_ids(batch.input_ids, settings_.vocabulary);
    const std::int64_t rows = batch.input_ids.size(0), count = batch.input_ids.size(1);
    const std::vector<TokenRow> tokens = token_rows(ids, batch.attention_mask, rows);
    std::vector<std::int64_t> starts;  // where each token's document begins, in packed rows
    if (context.mask.first_keys.defined()) starts = context.mask.first_keys.to_vector<std::int64_t>();
    const ContextTree::Reader tree(tree_);
    const Tensor logits = Tensor::zeros({rows, count, settings_.vocabulary});
    parallel_for(rows * count, 64, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t at = first; at < last; ++at) {
            const TokenRow& row = tokens[static_cast<std::size_t>(at / count)];
            const std::int64_t* end = ids.data() + at + 1;
            if (end <= row.begin || end > row.end) continue;
            const std::int64_t start = starts.empty() ? 0 : starts[static_cast<std::size_t>(at)];
            score(tree, std::max(row.begin, ids.data() + at / count * count + start), end,
                  {logits.data<float>() + at * settings_.vocabulary, static_cast<std::size_t>(settings_.vocabulary)});
        }
    });
    return logits.to(batch.input_ids.device());
}

Tensor SmoothedNgram::loss(const Batch& batch, const LossOptions& options, const nn::Context& context) const {
    return next_token_loss(forward(batch, context, {}), batch, options);
}

std::unique_ptr<DecodingSession> SmoothedNgram::decode(std::int64_t) const {
    const auto scores_of = [this](const std::vector<std::vector<std::int64_t>>& rows) {
        const ContextTree::Reader tree(tree_);
        const auto vocabulary = static_cast<std::size_t>(settings_.vocabulary);
        std::vector<float> logits(rows.size() * vocabulary);
        for (std::size_t row = 0; row < rows.size(); ++row)
            score(tree, rows[row].data(), rows[row].data() + rows[row].size(),
                  std::span(logits).subspan(row * vocabulary, vocabulary));
        return Tensor::from(logits, {static_cast<std::int64_t>(rows.size()), settings_.vocabulary}).to(tree_.device());
    };
    return decode_window({settings_.order - 1, settings_.vocabulary, scores_of});
}

void SmoothedNgram::count(std::span<const std::int64_t> tokens, bool begins) {
    for (const std::int64_t token : tokens)
        check(token >= 0 && token < settings_.vocabulary, "the text has the id ", token,
              ", and the model a vocabulary of ", settings_.vocabulary);
    counts_.add(tokens, begins);
}

void SmoothedNgram::estimate() {
    check(!counts_.empty(), config.source(), ": nothing was counted yet");
    tree_.set(counts_.estimated(settings_));
    formats::Json json = config.json();
    json.set("contexts", tree_.contexts()).set("entries", tree_.entry_count());
    config = {std::move(json), config.source()};
}

}  // namespace tessera::models
