#include "tessera/nn/attention/dot_product.h"

#include <algorithm>
#include <cmath>

#include "tessera/nn/attention/ring_cache.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/cast.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/softmax.h"
#include "tessera/ops/views.h"

namespace tessera::nn {
namespace {

DotProductSettings completed(DotProductSettings settings) {
    if (settings.kv_heads == 0) settings.kv_heads = settings.heads;
    if (settings.head_width == 0) {
        check(settings.width % settings.heads == 0, "attention: width ", settings.width, " does not split into ",
              settings.heads, " heads");
        settings.head_width = settings.width / settings.heads;
    }
    if (settings.memory_width == 0) settings.memory_width = settings.width;
    check(settings.heads % settings.kv_heads == 0, "attention: ", settings.heads, " heads cannot share ",
          settings.kv_heads, " key-value heads");
    return settings;
}

// Where each query's keys begin under a window beside a prefix: the prefix sees all of itself, what follows it the last
// `window` keys.
Tensor first_keys_after_prefix(const ops::AttentionMask& mask, std::int64_t window, const Tensor& x,
                               std::int64_t seen) {
    const std::int64_t rows = x.size(0), queries = x.size(1);
    std::vector<std::int64_t> prefixes(static_cast<std::size_t>(rows), mask.prefix_keys), first_keys;
    if (mask.prefix_lengths.defined()) prefixes = mask.prefix_lengths.to_vector<std::int64_t>();
    for (const std::int64_t prefix : prefixes)
        for (std::int64_t at = seen; at < seen + queries; ++at)
            first_keys.push_back(at < prefix ? 0 : std::max<std::int64_t>(0, at - window + 1));
    return Tensor::from(first_keys, {rows, queries}).to(x.device());
}

// x (B, T, width) are the newest tokens after `seen` others.
ops::AttentionMask narrowed(ops::AttentionMask mask, std::int64_t window, const Tensor& x, std::int64_t seen) {
    if (window <= 0) return mask;
    if (mask.prefix_keys > 0 || mask.prefix_lengths.defined()) {
        if (window >= seen + x.size(1)) return mask;
        check(!mask.first_keys.defined(), "attention: packed documents, a prefix and a window at once");
        mask.first_keys = first_keys_after_prefix(mask, window, x, seen);
        return mask;
    }
    const bool looks_ahead = mask.keys_ahead != 0;
    mask.keys_behind = mask.keys_behind < 0 ? window - 1 : std::min(mask.keys_behind, window - 1);
    if (looks_ahead) mask.keys_ahead = mask.keys_ahead < 0 ? window - 1 : std::min(mask.keys_ahead, window - 1);
    return mask;
}

// Per-row facts count keys from position 0; the cache may hand out keys from a later one on.
ops::AttentionMask counted_from(ops::AttentionMask mask, std::int64_t first_position) {
    if (first_position == 0) return mask;
    for (Tensor* fact : {&mask.lengths, &mask.starts, &mask.prefix_lengths, &mask.first_keys})
        if (fact->defined())
            *fact = ops::sub(*fact, Tensor::scalar(static_cast<double>(first_position), fact->dtype(), fact->device()));
    mask.prefix_keys = std::max<std::int64_t>(0, mask.prefix_keys - first_position);
    return mask;
}

bool has_row_facts(const ops::AttentionMask& mask) {
    return mask.lengths.defined() || mask.starts.defined() || mask.prefix_lengths.defined() ||
           mask.first_keys.defined();
}

}  // namespace

DotProductAttention::DotProductAttention(const DotProductSettings& given) : settings_(completed(given)) {
    const DotProductSettings& s = settings_;
    query = Linear(s.width, s.heads * s.head_width, s.input_bias);
    key = Linear(s.memory_width, s.kv_heads * s.head_width, s.input_bias);
    value = Linear(s.memory_width, s.kv_heads * s.head_width, s.input_bias);
    output = Linear(s.heads * s.head_width, s.width, s.output_bias);
    if (s.query_key_norm) {
        query_norm = std::make_unique<RmsNorm>(s.head_width, s.norm_eps, s.norm_weight);
        key_norm = std::make_unique<RmsNorm>(s.head_width, s.norm_eps, s.norm_weight);
    }
    if (s.rope) rope_ = Rope(*s.rope);
    if (s.alibi) alibi_slopes_ = alibi_slopes(s.heads);
}

// Queries, keys and values go into products only: they are no wider than all of those take them.
template <std::size_t count>
std::array<Tensor, count> DotProductAttention::heads_of(const std::array<const Linear*, count>& projections,
                                                        const Tensor& x, const Context& context) const {
    const DType factor = query.matmul_input_dtype(x);
    const bool agree = key.matmul_input_dtype(x) == factor && value.matmul_input_dtype(x) == factor;
    std::array<Tensor, count> heads;
    forward_many(projections, x, context, agree ? factor : x.dtype(), heads);
    for (Tensor& projected : heads)
        projected = ops::reshape(projected, {projected.size(0), projected.size(1),
                                             projected.size(2) / settings_.head_width, settings_.head_width});
    return heads;
}

Tensor DotProductAttention::output_of(const Tensor& mixed, const Context& context, DType dtype) const {
    const std::int64_t width = settings_.heads * settings_.head_width;
    return output.forward(ops::reshape(mixed, {mixed.size(0), mixed.size(1), width}), context, dtype);
}

ops::AttentionOptions DotProductAttention::options(const Context& context) const {
    return {.scale = settings_.scale,
            .soft_cap = settings_.soft_cap,
            .dropout = context.training ? settings_.dropout : 0,
            .dropout_key = context.key};
}

// The newest `count` of the keys seen have come with this call.
void DotProductAttention::add_alibi(ops::AttentionOptions& how, const KeyValues& seen, std::int64_t count,
                                    const Tensor& starts, Cache* cache) const {
    const AlibiSettings& alibi = *settings_.alibi;
    const Device device = seen.key.device();
    if (!alibi.rounded) {
        how.alibi_slopes = ops::scale(alibi_slopes_, alibi.factor).to(device);
        return;
    }
    const std::int64_t rows = seen.key.size(0), length = seen.key.size(1);
    AlibiKeys keys{.rows = rows, .first = seen.first_position, .count = length, .starts = starts};
    auto* kept = dynamic_cast<AlibiCache*>(cache);
    if (kept) {
        keys.first += length - count;
        keys.count = count;
    }
    Tensor biases = rounded_alibi_biases(alibi_slopes_, alibi.factor, keys).to(seen.key.dtype()).to(device);
    if (kept) biases = kept->append_biases(biases);
    how.bias = ops::reshape(ops::permute(biases, {0, 2, 1}), {rows, settings_.heads, 1, length});
}

Tensor DotProductAttention::forward(const Tensor& x, const Context& context, Cache* cache) const {
    check(x.rank() == 3 && x.size(2) == settings_.width, "attention: input of shape ", x.shape(), ", expected (B, T, ",
          settings_.width, ")");
    auto [q, k, v] = heads_of<3>({&query, &key, &value}, x, context);
    if (query_norm) q = query_norm->forward(q);
    if (key_norm) k = key_norm->forward(k);
    if (settings_.rope) {
        const Tensor positions = positions_or_default(context, x.size(1), cache, x.device());
        q = rope_.forward(q, positions);
        k = rope_.forward(k, positions);
    }
    ops::AttentionOptions how = options(context);
    how.mask = narrowed(context.mask, settings_.window, x, cache ? cache->length() : 0);
    if (context.bias.defined()) how.bias = ops::cast(context.bias, q.dtype());
    KeyValues seen{k, v};
    if (cache) {
        const bool order_matters =
            has_row_facts(how.mask) || how.mask.prefix_keys > 0 || how.bias.defined() || settings_.alibi.has_value();
        seen = dynamic_cast<KeyValueCache&>(*cache).append(k, v, order_matters);
        how.mask = seen.in_order ? counted_from(how.mask, seen.first_position) : ops::AttentionMask::bidirectional();
    }
    if (settings_.alibi) add_alibi(how, seen, x.size(1), context.mask.starts, cache);
    return output_of(ops::attention(q, seen.key, seen.value, how), context, x.dtype());
}

// Queries of the first tokens only, where nothing but the mask hangs on a query's place.
Tensor DotProductAttention::forward_first(const Tensor& x, std::int64_t count, const Context& context) const {
    const bool is_plain = !settings_.rope && !settings_.alibi && !query_norm && settings_.window <= 0;
    if (!is_plain || context.bias.defined() || context.mask.first_keys.defined())
        return SelfAttention::forward_first(x, count, context);
    ops::AttentionOptions how = options(context);
    how.mask = context.mask;
    how.offset = 0;
    const KeyValues all = project(x, context);
    const Tensor q = heads_of<1>({&query}, ops::slice(x, 1, 0, count), context)[0];
    return output_of(ops::attention(q, all.key, all.value, how), context, x.dtype());
}

std::unique_ptr<Cache> DotProductAttention::make_cache(std::int64_t capacity) const {
    if (settings_.window > 0 && settings_.window < capacity) return std::make_unique<RingCache>(settings_.window);
    if (settings_.alibi && settings_.alibi->rounded) return std::make_unique<AlibiCache>(capacity);
    return std::make_unique<FullCache>(capacity);
}

KeyValues DotProductAttention::project(const Tensor& memory, const Context& context) const {
    const auto [k, v] = heads_of<2>({&key, &value}, memory, context);
    return {k, v};
}

// The fused op keeps no weights, so they are made once more: q (B, U, H, D), k (B, S, K, D) → (B, U, S).
Tensor DotProductAttention::weights_of(const Tensor& q, const Tensor& k, const ops::AttentionMask& mask) const {
    check(!mask.starts.defined(), "attention: weights can be seen of texts without padding before them only");
    const std::int64_t shared = settings_.heads / settings_.kv_heads;
    const double scale = settings_.scale.value_or(1 / std::sqrt(static_cast<double>(settings_.head_width)));
    Tensor sum;
    for (std::int64_t head = 0; head < settings_.heads; ++head) {
        const Tensor keys = ops::transpose(ops::select(k, 2, head / shared), 1, 2);
        const Tensor scores = ops::scale(ops::matmul(ops::select(q, 2, head), keys), scale);
        const Tensor weights =
            mask.lengths.defined() ? ops::masked_softmax(scores, mask.lengths) : ops::softmax(scores);
        sum = sum.defined() ? ops::add(sum, weights) : weights;
    }
    return ops::scale(sum, 1 / static_cast<double>(settings_.heads));
}

Tensor DotProductAttention::attend(const Tensor& x, const KeyValues& memory, const ops::AttentionMask& mask,
                                   const Context& context) const {
    ops::AttentionOptions how = options(context);
    how.mask = mask;
    const Tensor q = heads_of<1>({&query}, x, context)[0];
    if (context.cross_attention) context.cross_attention->push_back(weights_of(q, memory.key, mask));
    return output_of(ops::attention(q, memory.key, memory.value, how), context, x.dtype());
}

void DotProductAttention::visit(const Visitor& visitor) {
    visitor("query", query);
    visitor("key", key);
    visitor("value", value);
    visitor("output", output);
    visitor("query_norm", query_norm);
    visitor("key_norm", key_norm);
}

}  // namespace tessera::nn
