#include "tessera/models/expert_balance.h"

#include <cmath>

#include "tessera/nn/attention/cache.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/gather.h"
#include "tessera/ops/routing.h"

namespace tessera::models {
namespace {

using Rows = std::vector<std::int64_t>;  // of the router's logits: a row is a token

// The tokens of each sequence, without padding.
std::vector<Rows> sequences_of(const Batch& batch) {
    const std::int64_t count = batch.input_ids.size(0), length = batch.input_ids.size(1);
    const Rows mask = batch.attention_mask.defined() ? batch.attention_mask.to_vector<std::int64_t>() : Rows();
    std::vector<Rows> sequences;
    for (std::int64_t sequence = 0; sequence < count; ++sequence) {
        Rows tokens;
        for (std::int64_t row = sequence * length; row < (sequence + 1) * length; ++row)
            if (mask.empty() || mask[static_cast<std::size_t>(row)] != 0) tokens.push_back(row);
        if (!tokens.empty()) sequences.push_back(std::move(tokens));
    }
    return sequences;
}

Rows joined(const std::vector<Rows>& sequences) {
    Rows all;
    for (const Rows& rows : sequences) all.insert(all.end(), rows.begin(), rows.end());
    return all;
}

nn::RouterChoice picked(const nn::RouterChoice& choice, const Rows& rows) {
    const auto count = static_cast<std::int64_t>(rows.size());
    if (count == choice.logits.size(0)) return choice;
    return {ops::embedding(choice.logits, Tensor::from(rows, {count}).to(choice.logits.device())),
            nn::gather_rows(choice.indices, rows)};
}

Tensor over_model(const std::vector<nn::RouterChoice>& layers, const Rows& rows) {
    std::vector<Tensor> logits, indices;
    for (const nn::RouterChoice& layer : layers) {
        const nn::RouterChoice choice = picked(layer, rows);
        logits.push_back(choice.logits);
        indices.push_back(choice.indices);
    }
    return ops::load_balancing_loss(ops::concat(logits, 0), ops::concat(indices, 0));
}

// The mean over the groups of tokens, of which each counts by itself.
Tensor over_groups(const nn::RouterChoice& layer, const std::vector<Rows>& groups) {
    Tensor sum;
    for (const Rows& rows : groups) {
        const nn::RouterChoice choice = picked(layer, rows);
        const Tensor one = ops::load_balancing_loss(choice.logits, choice.indices);
        sum = sum.defined() ? ops::add(sum, one) : one;
    }
    return ops::scale(sum, 1 / static_cast<double>(layer.indices.size(1)) / static_cast<double>(groups.size()));
}

}  // namespace

double read_loss_weight(const Config& config, const char* field, double fallback) {
    const double weight = config.number(field, fallback);
    if (!(weight >= 0) || !std::isfinite(weight))
        config.reject(field, text_of("expected a number from 0, found ", weight));
    return weight;
}

Tensor balance_loss(const std::vector<nn::RouterChoice>& layers, const Batch& batch, ExpertBalance::Over over) {
    check(!layers.empty(), "balance: there are no layers of experts");
    std::vector<Rows> groups = sequences_of(batch);
    check(!groups.empty(), "attention_mask: all of the batch is padding");
    if (over == ExpertBalance::Over::Model) return over_model(layers, joined(groups));
    if (over == ExpertBalance::Over::Layer) groups = {joined(groups)};
    Tensor sum;
    for (const nn::RouterChoice& layer : layers) {
        const Tensor one = over_groups(layer, groups);
        sum = sum.defined() ? ops::add(sum, one) : one;
    }
    return sum;
}

}  // namespace tessera::models
