// N-grams by counting: p(next | context) = count(context, next) / count(context), the maximum likelihood estimate
// (Shannon 1948), with add-k smoothing (Lidstone 1920) where config.json asks for it.
#include "models/ngram.h"
#include "models/architecture.h"
#include "models/next_token.h"

#include <algorithm>
#include <cmath>

#include "models/padding.h"
#include "models/settings.h"
#include "models/vocabulary.h"
#include "ops/gather.h"
#include "ops/views.h"

namespace tessera::models {
namespace {

// One row of a batch from its first token on.
struct Row {
    const std::int64_t *begin, *end;
};

std::vector<Row> rows_of(const std::vector<std::int64_t>& ids, const Tensor& attention_mask, std::int64_t rows) {
    const Padding padding = padding_of(attention_mask);
    const auto count = static_cast<std::int64_t>(ids.size()) / rows;
    const auto fact = [&](const Tensor& values, std::int64_t fallback) {
        return values.defined() ? values.to_vector<std::int64_t>()
                                : std::vector<std::int64_t>(static_cast<std::size_t>(rows), fallback);
    };
    const std::vector<std::int64_t> starts = fact(padding.starts, 0), ends = fact(padding.lengths, count);
    std::vector<Row> found;
    for (std::size_t row = 0; row < starts.size(); ++row) {
        const std::int64_t* first = ids.data() + static_cast<std::int64_t>(row) * count;
        found.push_back({first + starts[row], first + std::max(starts[row], ends[row])});
    }
    return found;
}

std::vector<std::int64_t> checked_ids(const Tensor& ids, std::int64_t vocabulary) {
    check(ids.rank() == 2 && ids.size(0) > 0 && ids.size(1) > 0, "input_ids: expected (B, T), found ", ids.shape());
    std::vector<std::int64_t> values = ids.to_vector<std::int64_t>();
    for (const std::int64_t id : values)
        check(id >= 0 && id < vocabulary, "input_ids: ", id, " is outside a vocabulary of ", vocabulary);
    return values;
}

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

class NgramDecoding : public Decoding {
   public:
    explicit NgramDecoding(const Ngram& model) : model_(model) {}

    Tensor read(const Batch& prompt) override {
        const std::vector<std::int64_t> ids = checked_ids(prompt.input_ids, model_.table().size(1));
        for (const Row& row : rows_of(ids, prompt.attention_mask, prompt.input_ids.size(0)))
            last_.emplace_back(row.begin, row.end);
        return scores();
    }

    Tensor step(const Tensor& ids) override {
        const std::vector<std::int64_t> next = checked_ids(ids, model_.table().size(1));
        check(static_cast<std::size_t>(ids.size(0)) == last_.size(), "input_ids: ", ids.size(0), " rows after ",
              last_.size());
        const auto count = static_cast<std::size_t>(ids.size(1));
        for (std::size_t row = 0; row < last_.size(); ++row)
            last_[row].insert(last_[row].end(), next.begin() + static_cast<std::ptrdiff_t>(row * count),
                              next.begin() + static_cast<std::ptrdiff_t>((row + 1) * count));
        return scores();
    }

    void reorder(std::span<const std::int64_t> rows) override {
        std::vector<std::vector<std::int64_t>> after;
        for (const std::int64_t row : rows) after.push_back(last_.at(static_cast<std::size_t>(row)));
        last_ = std::move(after);
    }

    std::int64_t cache_bytes() const override {
        return static_cast<std::int64_t>(last_.size() * sizeof(std::int64_t)) * (model_.order() - 1);
    }

   private:
    Tensor scores() {
        std::vector<std::int64_t> contexts;
        for (std::vector<std::int64_t>& tokens : last_) {
            contexts.push_back(model_.context_of(tokens.data(), tokens.data() + tokens.size()));
            const auto kept = std::min(tokens.size(), static_cast<std::size_t>(model_.order() - 1));
            tokens.erase(tokens.begin(), tokens.end() - static_cast<std::ptrdiff_t>(kept));
        }
        const Tensor index = Tensor::from(contexts, {static_cast<std::int64_t>(contexts.size())});
        return ops::embedding(model_.table().detach(), index.to(model_.table().device()));
    }

    const Ngram& model_;
    std::vector<std::vector<std::int64_t>> last_;  // each row's tokens, the last n − 1 of them
};

}  // namespace

Ngram::Ngram(const Config& settings)
    : vocabulary_(read_vocabulary(settings, "vocabulary_size")),
      order_(read_count(settings, "order")),
      smoothing_(settings.number("smoothing", 0)) {
    if (!(smoothing_ >= 0)) settings.reject("smoothing", text_of("must not be below 0, found ", smoothing_));
    table_ = Tensor::deferred({context_count(settings, vocabulary_, order_), vocabulary_});
    config = settings;
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
    for (const Row& row : rows_of(ids, batch.attention_mask, batch.input_ids.size(0)))
        for (const std::int64_t* at = row.begin; at != row.end; ++at)
            contexts[static_cast<std::size_t>(at - ids.data())] = context_of(row.begin, at + 1);
    return ops::embedding(table_, Tensor::from(contexts, batch.input_ids.shape()).to(table_.device()));
}

Tensor Ngram::loss(const Batch& batch, const nn::Context& context) const {
    return next_token_loss(forward(batch, context, {}), batch, context);
}

void Ngram::count(const Batch& batch) {
    counts_.resize(static_cast<std::size_t>(table_.elements()), 0);
    const std::vector<std::int64_t> ids = checked_ids(batch.input_ids, vocabulary_);
    for (const Row& row : rows_of(ids, batch.attention_mask, batch.input_ids.size(0)))
        for (const std::int64_t* next = row.begin + 1; next < row.end; ++next)
            counts_[static_cast<std::size_t>(context_of(row.begin, next) * vocabulary_ + *next)] += 1;
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

std::unique_ptr<Decoding> Ngram::decode(std::int64_t) const { return std::make_unique<NgramDecoding>(*this); }

static std::unique_ptr<Model> ngram(const Config& config) { return std::make_unique<Ngram>(config); }

static const RegisterArchitecture register_ngram({"ngram", "Shannon, A Mathematical Theory of Communication, 1948",
                                                  ngram});

}  // namespace tessera::models
