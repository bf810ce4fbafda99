#include "tessera/nn/attention/global_local.h"

#include "tessera/ops/global_local_attention.h"
#include "tessera/ops/views.h"

namespace tessera::nn {

GlobalLocalAttention::GlobalLocalAttention(const GlobalLocalSettings& s)
    : query(s.width, s.width),
      key(s.width, s.width),
      value(s.width, s.width),
      output(s.width, s.width),
      global_query(s.width, s.width),
      global_key(s.width, s.width),
      global_value(s.width, s.width),
      settings_(s) {
    check(s.heads >= 1 && s.width % s.heads == 0, "attention: width ", s.width, " does not split into ", s.heads,
          " heads");
}

Tensor GlobalLocalAttention::forward(const Tensor& x, const Context& context, Cache* cache) const {
    check(x.rank() == 3 && x.size(2) == settings_.width, "attention: input of shape ", x.shape(), ", expected (B, T, ",
          settings_.width, ")");
    check(!cache, "attention: a window that looks ahead has no cache");
    const ops::AttentionMask& mask = context.mask;
    check(mask.keys_ahead < 0 && mask.keys_behind < 0 && !mask.starts.defined() && !mask.first_keys.defined(),
          "attention: a window with global tokens knows padding on the right only");
    const auto heads_of = [&](const Linear& projection) {
        return ops::reshape(projection.forward(x, context),
                            {x.size(0), x.size(1), settings_.heads, settings_.width / settings_.heads});
    };
    const Tensor q = heads_of(query), k = heads_of(key), v = heads_of(value);
    // Without global tokens nobody reads what their projections would give.
    const bool has_global = context.global_tokens.defined();
    const Tensor mixed = ops::global_local_attention(
        q, k, v, has_global ? heads_of(global_query) : q, has_global ? heads_of(global_key) : k,
        has_global ? heads_of(global_value) : v,
        {.window = settings_.window, .global_tokens = context.global_tokens, .lengths = mask.lengths});
    return output.forward(ops::reshape(mixed, x.shape()), context);
}

std::unique_ptr<Cache> GlobalLocalAttention::make_cache(std::int64_t) const {
    fail("attention: a window that looks ahead has no cache");
}

void GlobalLocalAttention::visit(const Visitor& visitor) {
    visitor("query", query);
    visitor("key", key);
    visitor("value", value);
    visitor("output", output);
    visitor("global_query", global_query);
    visitor("global_key", global_key);
    visitor("global_value", global_value);
}

}  // namespace tessera::nn
