// N-grams by counting: p(next | context) = count(context, next) / count(context), the maximum likelihood estimate
// (Shannon 1948), with add-k smoothing (Lidstone 1920) where config.json asks for it.
#include "tessera/models/ngram/ngram.h"
#include "tessera/models/architecture.h"
#include "tessera/models/next_token.h"

#include <algorithm>
#include <cmath>

#include "tessera/models/ngram/smoothed_ngram.h"
#include "tessera/models/settings.h"
#include "tessera/models/token_rows.h"
#include "tessera/models/window_decoding.h"
#include "tessera/ops/gather.h"
#include "tessera/ops/views.h"

namespace tessera::models {
namespace {

// One context more per place than tokens: what stands before the beginning.
std::int64_t context_count(const Config& config, std::int64_t vocabulary, std::int64_t order) {
    constexpr std::int64_t most = std::int64_t{1} << 28;
    std::int64_t contexts = 1;
    for (std::int64_t place = 1; place < order; ++place) {
        contexts *= vocabulary + 1;
        if (contexts > most / vocabulary)
            config.reject("order", text_of("a table for ", order, " tokens in a row of ", vocabulary, " has more than ",
                                           most, " entries"));
    }
    return contexts;
}

}  // namespace

Ngram::Ngram(const Config& settings)
    : vocabulary_(read_vocabulary(settings, "vocabulary_size")),
      order_(read_count(settings, "order")),
      smoothing_(settings.number("smoothing", 0)) {
    if (!(smoothing_ >= 0)) settings.reject("smoothing", text_of("must not be below 0, found ", smoothing_));
    table_ = Tensor::deferred({context_count(settings, vocabulary_, order_), vocabulary_});
    config = settings;
    capabilities = {Capability::Generate, Capability::Score, Capability::Count};
    weights.names = {{"log_probabilities", "log_probabilities"}};
}

std::int64_t Ngram::context_of(const std::int64_t* begin, const std::int64_t* end) const {
    std::int64_t context = 0;
    for (std::int64_t place = order_ - 1; place > 0; --place)
        context = context * (vocabulary_ + 1) + (end - begin >= place ? *(end - place) : vocabulary_);
    return context;
}

Tensor Ngram::forward(const Batch& batch, const nn::Context&, const Observer&) const {
    const std::vector<std::int64_t> ids = checked_ids(batch.input_ids, vocabulary_);
    std::vector<std::int64_t> contexts(ids.size(), 0);
    for (const TokenRow& row : token_rows(ids, batch.attention_mask, batch.input_ids.size(0)))
        for (const std::int64_t* at = row.begin; at != row.end; ++at)
            contexts[static_cast<std::size_t>(at - ids.data())] = context_of(row.begin, at + 1);
    return ops::embedding(table_, Tensor::from(contexts, batch.input_ids.shape()).to(table_.device()));
}

Tensor Ngram::loss(const Batch& batch, const LossOptions& options, const nn::Context& context) const {
    return next_token_loss(forward(batch, context, {}), batch, options);
}

void Ngram::count(const Batch& batch) {
    const std::vector<std::int64_t> ids = checked_ids(batch.input_ids, vocabulary_);
    for (const TokenRow& row : token_rows(ids, batch.attention_mask, batch.input_ids.size(0)))
        count({row.begin, row.end}, true);
}

void Ngram::count(std::span<const std::int64_t> tokens, bool begins) {
    counts_.resize(static_cast<std::size_t>(table_.elements()), 0);
    if (begins) before_.clear();
    for (const std::int64_t next : tokens) {
        check(next >= 0 && next < vocabulary_, "the text has the id ", next, ", and the model a vocabulary of ",
              vocabulary_);
        const std::int64_t context = context_of(before_.data(), before_.data() + before_.size());
        // Nothing predicts a text's first token.
        if (!before_.empty()) counts_[static_cast<std::size_t>(context * vocabulary_ + next)] += 1;
        if (before_.size() == static_cast<std::size_t>(std::max<std::int64_t>(1, order_ - 1)))
            before_.erase(before_.begin());
        before_.push_back(next);
    }
}

void Ngram::estimate() {
    check(!counts_.empty(), config.source(), ": nothing was counted yet");
    std::vector<double> table;
    table.reserve(counts_.size());
    for (auto row = counts_.begin(); row != counts_.end(); row += vocabulary_) {
        double total = smoothing_ * static_cast<double>(vocabulary_);
        for (auto at = row; at != row + vocabulary_; ++at) total += *at;
        for (auto at = row; at != row + vocabulary_; ++at)
            table.push_back(total > 0 ? std::log((*at + smoothing_) / total)
                                      : -std::log(static_cast<double>(vocabulary_)));
    }
    const Tensor values = Tensor::from(table, table_.shape());
    if (table_.is_deferred()) table_ = values.to(table_.dtype());
    table_.copy_from(values.to(table_.dtype()).to(table_.device()));
}

std::unique_ptr<DecodingSession> Ngram::decode(std::int64_t) const {
    return decode_window({order_ - 1, vocabulary_, [this](const std::vector<std::vector<std::int64_t>>& rows) {
                              std::vector<std::int64_t> contexts;
                              for (const std::vector<std::int64_t>& row : rows)
                                  contexts.push_back(context_of(row.data(), row.data() + row.size()));
                              const Tensor index = Tensor::from(contexts, {static_cast<std::int64_t>(contexts.size())});
                              return ops::embedding(table_.detach(), index.to(table_.device()));
                          }});
}

// A named smoothing is one that needs counts, so contexts are kept as a tree instead of a table.
static std::unique_ptr<Model> ngram(const Config& config) {
    const formats::Json* smoothing = config.json().find("smoothing");
    if (smoothing && smoothing->is_string()) return std::make_unique<SmoothedNgram>(config);
    return std::make_unique<Ngram>(config);
}

static const RegisterArchitecture register_ngram({"ngram", "Shannon, A Mathematical Theory of Communication, 1948",
                                                  ngram});

}  // namespace tessera::models
