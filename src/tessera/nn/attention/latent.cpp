#include "tessera/nn/attention/latent.h"

#include <cmath>

#include "tessera/ops/binary.h"
#include "tessera/ops/cast.h"
#include "tessera/ops/concat.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/views.h"

namespace tessera::nn {

LatentAttention::LatentAttention(const LatentSettings& s)
    : latent_down(s.width, s.latent + s.rope_width, s.has_bias),
      latent_up(s.latent, s.heads * (s.content_width + s.value_width), false),
      output(s.heads * s.value_width, s.width, s.has_bias),
      latent_norm(s.latent, s.norm_eps),
      settings_(s),
      rope_(s.rope) {
    const std::int64_t query_width = s.heads * (s.content_width + s.rope_width);
    if (s.query_latent > 0) {
        query_down = Linear(s.width, s.query_latent, s.has_bias);
        query_norm = std::make_unique<RmsNorm>(s.query_latent, s.norm_eps);
        query_up = Linear(s.query_latent, query_width, false);
    } else {
        query = Linear(s.width, query_width, false);
    }
}

Tensor LatentAttention::queries(const Tensor& x, const Tensor& positions, const Context& context) const {
    const LatentSettings& s = settings_;
    const Tensor flat = s.query_latent > 0
                            ? query_up.forward(query_norm->forward(query_down.forward(x, context)), context)
                            : query.forward(x, context);
    const Tensor q = ops::reshape(flat, {x.size(0), x.size(1), s.heads, s.content_width + s.rope_width});
    const Tensor content = ops::slice(q, 3, 0, s.content_width);
    const Tensor turned = rope_.forward(ops::slice(q, 3, s.content_width, s.content_width + s.rope_width), positions);
    return ops::concat({content, turned}, 3);
}

// In the queries' dtype: a checkpoint's weights may be narrower, or quantised.
Tensor LatentAttention::head_weights(DType dtype) const {
    const Tensor& stored = latent_up.weight;
    Tensor weights = is_quantised(stored.dtype()) ? stored.to(dtype) : ops::cast(stored, dtype);
    if (latent_up.adapter) weights = ops::add(weights, latent_up.adapter->weight_change().to(dtype));
    return ops::reshape(weights, {settings_.heads, settings_.content_width + settings_.value_width, settings_.latent});
}

// tokens (B, S, 1, latent + rope)
Tensor LatentAttention::expanded(const Tensor& q, const Tensor& tokens, const ops::AttentionOptions& how,
                                 const Context& context) const {
    const LatentSettings& s = settings_;
    const std::int64_t batch = tokens.size(0), length = tokens.size(1);
    const Tensor c = ops::reshape(ops::slice(tokens, 3, 0, s.latent), {batch, length, s.latent});
    const Tensor up =
        ops::reshape(latent_up.forward(c, context), {batch, length, s.heads, s.content_width + s.value_width});
    const Tensor shared =
        ops::expand(ops::slice(tokens, 3, s.latent, s.latent + s.rope_width), {batch, length, s.heads, s.rope_width});
    const Tensor key = ops::concat({ops::slice(up, 3, 0, s.content_width), shared}, 3);
    const Tensor value = ops::slice(up, 3, s.content_width, s.content_width + s.value_width);
    return ops::attention(q, key, value, how);  // (B, T, H, value)
}

Tensor LatentAttention::absorbed(const Tensor& q, const Tensor& tokens, const ops::AttentionOptions& how) const {
    const LatentSettings& s = settings_;
    const Tensor weights = head_weights(q.dtype());
    const Tensor key_up = ops::slice(weights, 1, 0, s.content_width);  // (H, content, latent)
    const Tensor value_up =
        ops::slice(weights, 1, s.content_width, s.content_width + s.value_width);             // (H, value, latent)
    const Tensor by_head = ops::permute(ops::slice(q, 3, 0, s.content_width), {0, 2, 1, 3});  // (B, H, T, content)
    const Tensor into_latent = ops::permute(ops::matmul(by_head, key_up), {0, 2, 1, 3});      // (B, T, H, latent)
    const Tensor latent_query =
        ops::concat({into_latent, ops::slice(q, 3, s.content_width, s.content_width + s.rope_width)}, 3);
    const Tensor mixed =
        ops::attention(latent_query, tokens, ops::slice(tokens, 3, 0, s.latent), how);  // (B, T, H, latent)
    const Tensor out =
        ops::matmul(ops::permute(mixed, {0, 2, 1, 3}), value_up, {.transpose_b = true});  // (B, H, T, value)
    return ops::permute(out, {0, 2, 1, 3});
}

Tensor LatentAttention::forward(const Tensor& x, const Context& context, Cache* cache) const {
    return forward(x, context, cache, LatentForm::Automatic);
}

Tensor LatentAttention::forward(const Tensor& x, const Context& context, Cache* cache, LatentForm form) const {
    const LatentSettings& s = settings_;
    const std::int64_t batch = x.size(0), length = x.size(1);
    const Tensor positions = positions_or_default(context, length, cache, x.device());
    const Tensor q = queries(x, positions, context);
    const Tensor down = latent_down.forward(x, context);
    const Tensor c = latent_norm.forward(ops::slice(down, 2, 0, s.latent));
    const Tensor rotary =
        ops::reshape(ops::slice(down, 2, s.latent, s.latent + s.rope_width), {batch, length, 1, s.rope_width});
    Tensor tokens = ops::concat({ops::reshape(c, {batch, length, 1, s.latent}), rope_.forward(rotary, positions)}, 3);
    if (cache) tokens = dynamic_cast<LatentCache&>(*cache).append(tokens);

    const double width = static_cast<double>(s.content_width + s.rope_width);
    const ops::AttentionOptions how{.mask = context.mask,
                                    .scale = s.scale.value_or(1 / std::sqrt(width)),
                                    .dropout = context.training ? s.dropout : 0,
                                    .dropout_key = context.key,
                                    .bias = context.bias};
    const bool one_token_against_many = length == 1 && tokens.size(1) > 1;
    const bool absorb = form == LatentForm::Absorbed || (form == LatentForm::Automatic && one_token_against_many);
    const Tensor mixed = absorb ? absorbed(q, tokens, how) : expanded(q, tokens, how, context);
    return output.forward(ops::reshape(mixed, {batch, length, s.heads * s.value_width}), context);
}

std::unique_ptr<Cache> LatentAttention::make_cache(std::int64_t capacity) const {
    return std::make_unique<LatentCache>(capacity);
}

void LatentAttention::visit(const Visitor& visitor) {
    if (settings_.query_latent > 0) {
        visitor("query_down", query_down);
        visitor("query_norm", query_norm);
        visitor("query_up", query_up);
    } else {
        visitor("query", query);
    }
    visitor("latent_down", latent_down);
    visitor("latent_norm", latent_norm);
    visitor("latent_up", latent_up);
    visitor("output", output);
}

}  // namespace tessera::nn
