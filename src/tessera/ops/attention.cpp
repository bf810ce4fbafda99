#include "tessera/ops/attention.h"

#include <algorithm>
#include <cmath>

#include "tessera/kernels/attention.h"
#include "tessera/ops/attention_inputs.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {

AttentionMask AttentionMask::sliding(std::int64_t window) {
    check(window >= 1, "attention: a sliding window of ", window, " keys; it needs at least 1");
    return {.keys_behind = window - 1, .keys_ahead = 0};
}

AttentionMask AttentionMask::bidirectional_sliding(std::int64_t window) {
    check(window >= 0, "attention: a sliding window of ", window, " keys on each side");
    return {.keys_behind = window, .keys_ahead = window};
}

namespace {

void check_shapes(const Tensor& query, const Tensor& key, const Tensor& value) {
    const auto fits = [&] {
        if (query.rank() != 4 || key.rank() != 4 || value.rank() != 4) return false;
        return query.size(0) == key.size(0) && key.size(0) == value.size(0) && key.size(1) == value.size(1) &&
               key.size(2) == value.size(2) && query.size(3) == key.size(3) && key.size(2) >= 1 &&
               query.size(2) % key.size(2) == 0;
    };
    check(fits(), "attention: query ", query.shape(), ", key ", key.shape(), " and value ", value.shape(),
          " do not fit (B, Tq, H, D), (B, Tk, KH, D), (B, Tk, KH, Dv) with H a multiple of KH");
    check(is_float(query.dtype()) && query.dtype() == key.dtype() && key.dtype() == value.dtype(),
          "attention: query, key and value are ", query.dtype(), ", ", key.dtype(), " and ", value.dtype(),
          "; they need one float dtype");
    check(query.device() == key.device() && key.device() == value.device(), "attention: query, key and value are on ",
          query.device(), ", ", key.device(), " and ", value.device());
}

// A per-row fact as the kernel wants it: on the device, i64, contiguous.
Tensor row_fact(const char* what, const Tensor& fact, const Shape& shape, Device device) {
    if (!fact.defined()) return {};
    check(fact.shape() == shape && fact.dtype() == DType::I64, "attention: ", what, " must be i64 of shape ", shape,
          ", not ", fact.dtype(), " of ", fact.shape());
    check(fact.device() == device, "attention: ", what, " is on ", fact.device(), ", the query on ", device);
    return fact.detach().contiguous();
}

const std::int64_t* pointer(const Tensor& fact) { return fact.view().as<const std::int64_t>(); }

// The options with everything checked and in the kernel's form. The settings point into the tensors kept here.
struct Prepared {
    Tensor lengths, starts, prefix_lengths, first_keys, offsets, bias, slopes;
    kernels::AttentionSettings settings;
};

void prepare_mask(Prepared& prepared, const Tensor& query, const Tensor& key, const AttentionOptions& options) {
    const AttentionMask& mask = options.mask;
    const Device device = query.device();
    const Shape rows{query.size(0)};
    check(mask.keys_behind < 0 || (mask.prefix_keys == 0 && !mask.prefix_lengths.defined()),
          "attention: a prefix and a sliding window together are not one interval of keys");
    check(mask.prefix_keys >= 0, "attention: a prefix of ", mask.prefix_keys, " keys");
    check(!(options.offset && options.offsets.defined()), "attention: both offset and offsets are given");
    prepared.lengths = row_fact("lengths", mask.lengths, rows, device);
    prepared.starts = row_fact("starts", mask.starts, rows, device);
    prepared.prefix_lengths = row_fact("prefix_lengths", mask.prefix_lengths, rows, device);
    prepared.first_keys = row_fact("first_keys", mask.first_keys, {query.size(0), query.size(1)}, device);
    prepared.offsets = row_fact("offsets", options.offsets, rows, device);
    prepared.settings.mask = {.behind = mask.keys_behind,
                              .ahead = mask.keys_ahead,
                              .prefix = mask.prefix_keys,
                              .offset = options.offset.value_or(key.size(1) - query.size(1)),
                              .offsets = pointer(prepared.offsets),
                              .prefixes = pointer(prepared.prefix_lengths),
                              .starts = pointer(prepared.starts),
                              .lengths = pointer(prepared.lengths),
                              .first_keys = pointer(prepared.first_keys)};
}

Prepared prepare(const Tensor& query, const Tensor& key, const AttentionOptions& options) {
    Prepared prepared;
    prepare_mask(prepared, query, key, options);
    kernels::AttentionSettings& settings = prepared.settings;
    settings.scale =
        options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, query.size(3)))));
    settings.soft_cap = options.soft_cap;
    settings.dropout = options.dropout;
    settings.dropout_key = options.dropout_key;
    check(options.soft_cap >= 0, "attention: soft cap ", options.soft_cap, " is negative");
    check(options.dropout >= 0 && options.dropout < 1, "attention: dropout ", options.dropout, " is not in [0, 1)");
    if (options.alibi_slopes.defined()) {
        check(options.alibi_slopes.shape() == Shape{query.size(2)}, "attention: ALiBi slopes ",
              options.alibi_slopes.shape(), " for ", query.size(2), " heads");
        check(!options.alibi_slopes.requires_grad(), "attention: ALiBi slopes have no gradient");
        prepared.slopes = options.alibi_slopes.detach().to(DType::F32).to(query.device()).contiguous();
        settings.slopes = prepared.slopes.view();
    }
    if (options.bias.defined()) {
        const Shape scores{query.size(0), query.size(2), query.size(1), key.size(1)};
        check(options.bias.rank() <= 4 && broadcast(options.bias.shape(), scores, "attention bias") == scores,
              "attention: bias ", options.bias.shape(), " does not broadcast to (B, H, Tq, Tk) ", scores);
        check(options.bias.dtype() == query.dtype() && options.bias.device() == query.device(), "attention: bias is ",
              options.bias.dtype(), " on ", options.bias.device(), ", the query ", query.dtype(), " on ",
              query.device());
        prepared.bias = expand(options.bias.detach(), scores);
        settings.bias = prepared.bias.view();
    }
    return prepared;
}

struct Saved {
    Tensor query, key, value, out, log_sum;
};

Tensor bias_gradient(const Prepared& prepared, const kernels::AttentionBackward& views, const Tensor& bias) {
    Shape shape = Shape::of_rank(4, 1);
    for (int i = 1; i <= bias.rank(); ++i) shape[4 - i] = bias.shape()[bias.rank() - i];
    const Tensor out = Tensor::empty(shape, compute_dtype(bias.dtype()), bias.device());
    kernels::attention_bias_gradient.on(bias.device())(prepared.settings, views, out.view());
    return reshape(out.to(bias.dtype()), bias.shape());
}

}  // namespace

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const AttentionOptions& options) {
    check_shapes(query, key, value);
    Prepared prepared = prepare(query, key, options);
    const Saved saved{.query = with_dense_rows(query),
                      .key = with_dense_rows(key),
                      .value = with_dense_rows(value),
                      .out = Tensor::empty({query.size(0), query.size(1), query.size(2), value.size(3)}, query.dtype(),
                                           query.device()),
                      .log_sum = Tensor::empty({query.size(0), query.size(2), query.size(1)},
                                               compute_dtype(query.dtype()), query.device())};
    kernels::attention.on(query.device())(prepared.settings, {saved.query.view(), saved.key.view(), saved.value.view(),
                                                              saved.out.view(), saved.log_sum.view()});
    const bool wants[] = {query.requires_grad(), key.requires_grad(), value.requires_grad(),
                          options.bias.defined() && options.bias.requires_grad()};
    const Tensor bias = options.bias.defined() ? options.bias.detach() : Tensor();
    return record("attention", saved.out, {query, key, value, options.bias},
                  [saved, prepared, bias, wants_query = wants[0], wants_key = wants[1], wants_value = wants[2],
                   wants_bias = wants[3]](const Tensor& gradient) -> Gradients {
                      const Tensor out_gradient = with_dense_rows(gradient);
                      Gradients gradients(4);
                      if (wants_query) gradients[0] = saved.query.empty_like();
                      if (wants_key) gradients[1] = saved.key.empty_like();
                      if (wants_value) gradients[2] = saved.value.empty_like();
                      const kernels::AttentionBackward views{
                          saved.query.view(),  saved.key.view(),     saved.value.view(),
                          saved.out.view(),    saved.log_sum.view(), out_gradient.view(),
                          gradients[0].view(), gradients[1].view(),  gradients[2].view()};
                      if (wants_query || wants_key || wants_value)
                          kernels::attention_backward.on(gradient.device())(prepared.settings, views);
                      if (wants_bias) gradients[3] = bias_gradient(prepared, views, bias);
                      return gradients;
                  });
}

}  // namespace tessera::ops
