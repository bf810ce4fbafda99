// Three calls of the attention kernel. Local tokens: once over the window with global keys hidden, once over the
// gathered global keys, the two merged into one softmax; in backward both parts see the merged log-sum, which makes
// their gradients those of the one softmax. Global tokens: gathered queries over all keys.
#include "tessera/ops/global_local_attention.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "tessera/kernels/attention.h"
#include "tessera/kernels/memory.h"
#include "tessera/ops/attention_inputs.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::ops {
namespace {

using kernels::AttentionSettings;

// Where the global tokens are, and the settings of the three kernel calls, which point into the tensors here.
struct Pattern {
    std::vector<std::vector<std::int64_t>> tokens;  // of each row, ascending
    std::int64_t most = 0;                          // global tokens in any one row
    Tensor hidden;                                  // (B, T) bool: the global tokens
    Tensor first_keys;                              // (B, T): past the end for queries that are global or padding
    Tensor lengths, counts;                         // (B): tokens of each row, and global tokens of each row
    AttentionSettings window, to_global, from_global;

    Pattern(const Shape& shape, Device device, const GlobalLocalOptions& options) {
        const std::int64_t rows = shape[0], time = shape[1];
        std::vector<std::int64_t> length(static_cast<std::size_t>(rows), time);
        if (options.lengths.defined()) length = options.lengths.to_vector<std::int64_t>();
        std::vector<std::int64_t> first(static_cast<std::size_t>(rows * time), 0), count;
        const auto marks = options.global_tokens.defined() ? options.global_tokens.to_vector<std::int64_t>()
                                                           : std::vector<std::int64_t>(first.size(), 0);
        tokens.resize(static_cast<std::size_t>(rows));
        hidden = Tensor::zeros({rows, time}, DType::Bool);
        for (std::int64_t row = 0; row < rows; ++row) {
            auto& own = tokens[static_cast<std::size_t>(row)];
            for (std::int64_t i = 0; i < time; ++i) {
                const auto at = static_cast<std::size_t>(row * time + i);
                const bool is_padding = i >= length[static_cast<std::size_t>(row)];
                const bool is_global = marks[at] != 0 && !is_padding;
                if (is_global) own.push_back(i);
                hidden.data<bool>()[at] = is_global;
                if (is_global || is_padding) first[at] = time;
            }
            count.push_back(static_cast<std::int64_t>(own.size()));
            most = std::max(most, count.back());
        }
        hidden = hidden.to(device);
        first_keys = Tensor::from(first, {rows, time}).to(device);
        lengths = Tensor::from(length, {rows}).to(device);
        counts = Tensor::from(count, {rows}).to(device);
        fill_settings(options.scale.value_or(1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, shape[3])))),
                      options.window / 2);
    }
    Pattern(const Pattern&) = delete;
    Pattern& operator=(const Pattern&) = delete;

   private:
    void fill_settings(double scale, std::int64_t reach) {
        window.scale = to_global.scale = from_global.scale = scale;
        window.mask.behind = window.mask.ahead = reach;
        window.mask.lengths = from_global.mask.lengths = lengths.view().as<const std::int64_t>();
        window.mask.first_keys = to_global.mask.first_keys = first_keys.view().as<const std::int64_t>();
        window.mask.hidden_keys = hidden.view().as<const bool>();
        to_global.mask.lengths = counts.view().as<const std::int64_t>();
    }
};

// The slot of global token n of a row in a gathered (B, most, H, D), and the token in the whole (B, T, H, D).
template <class Body>
void for_each_global(const Pattern& pattern, const Tensor& gathered, const Tensor& whole, Body&& body) {
    for (std::int64_t row = 0; row < whole.size(0); ++row) {
        const auto& tokens = pattern.tokens[static_cast<std::size_t>(row)];
        for (std::int64_t n = 0; n < static_cast<std::int64_t>(tokens.size()); ++n)
            body(select(select(gathered, 0, row), 0, n),
                 select(select(whole, 0, row), 0, tokens[static_cast<std::size_t>(n)]));
    }
}

Tensor gather_global(const Pattern& pattern, const Tensor& whole) {
    const Tensor out =
        Tensor::zeros({whole.size(0), pattern.most, whole.size(2), whole.size(3)}, whole.dtype(), whole.device());
    for_each_global(pattern, out, whole, [](const Tensor& slot, const Tensor& token) { slot.copy_from(token); });
    return out;
}

void add_global(const Pattern& pattern, const Tensor& gathered, const Tensor& whole) {
    for_each_global(pattern, gathered, whole, [](const Tensor& slot, const Tensor& token) {
        kernels::accumulate.on(token.device())(slot.view(), token.view());
    });
}

// One call of the attention kernel: what went in and what came out.
struct Part {
    Tensor query, key, value, out, log_sum;

    static Part run(const AttentionSettings& settings, const Tensor& query, const Tensor& key, const Tensor& value,
                    DType out_dtype) {
        const Shape sums{query.size(0), query.size(2), query.size(1)};
        Part part{query, key, value, Tensor::empty(query.shape(), out_dtype, query.device()),
                  Tensor::empty(sums, compute_dtype(query.dtype()), query.device())};
        kernels::attention.on(query.device())(
            settings, {query.view(), key.view(), value.view(), part.out.view(), part.log_sum.view()});
        return part;
    }

    // The gradients of query, key and value, in the compute type.
    std::vector<Tensor> backward(const AttentionSettings& settings, const Tensor& out_gradient) const {
        std::vector<Tensor> gradients;
        for (const Tensor& input : {query, key, value})
            gradients.push_back(Tensor::empty(input.shape(), compute_dtype(input.dtype()), input.device()));
        kernels::attention_backward.on(query.device())(
            settings, {query.view(), key.view(), value.view(), out.view(), log_sum.view(), out_gradient.view(),
                       gradients[0].view(), gradients[1].view(), gradients[2].view()});
        return gradients;
    }
};

struct Parts {
    Part window, to_global, from_global;
};

// Fills `parts` and returns the output. Afterwards both local parts hold the merged output and log-sum.
Tensor forward(const Pattern& pattern, const std::vector<Tensor>& in, Parts& parts) {
    const DType dtype = in[0].dtype();
    if (pattern.most == 0) {
        parts.window = Part::run(pattern.window, in[0], in[1], in[2], dtype);
        return parts.window.out;
    }
    parts.window = Part::run(pattern.window, in[0], in[1], in[2], compute_dtype(dtype));
    parts.to_global = Part::run(pattern.to_global, in[0], gather_global(pattern, in[1]), gather_global(pattern, in[2]),
                                compute_dtype(dtype));
    parts.from_global = Part::run(pattern.from_global, gather_global(pattern, in[3]), in[4], in[5], dtype);
    const Tensor out = Tensor::empty(in[0].shape(), dtype, in[0].device());
    const Tensor log_sum = parts.window.log_sum.empty_like();
    kernels::attention_merge.on(out.device())({parts.window.out.view(), parts.window.log_sum.view(),
                                               parts.to_global.out.view(), parts.to_global.log_sum.view(), out.view(),
                                               log_sum.view()});
    for_each_global(pattern, parts.from_global.out, out,
                    [](const Tensor& slot, const Tensor& token) { token.copy_from(slot); });
    parts.window.out = parts.to_global.out = out;
    parts.window.log_sum = parts.to_global.log_sum = log_sum;
    return out;
}

Gradients backward(const Pattern& pattern, const Parts& parts, const Tensor& gradient) {
    const Tensor out_gradient = with_dense_rows(gradient);
    Gradients gradients = parts.window.backward(pattern.window, out_gradient);
    if (pattern.most > 0) {
        const std::vector<Tensor> local = parts.to_global.backward(pattern.to_global, out_gradient);
        kernels::accumulate.on(gradient.device())(local[0].view(), gradients[0].view());
        add_global(pattern, local[1], gradients[1]);
        add_global(pattern, local[2], gradients[2]);
        const std::vector<Tensor> global =
            parts.from_global.backward(pattern.from_global, gather_global(pattern, out_gradient));
        gradients.push_back(Tensor::zeros(gradient.shape(), global[0].dtype(), gradient.device()));
        add_global(pattern, global[0], gradients[3]);
        gradients.push_back(global[1]);
        gradients.push_back(global[2]);
    }
    while (gradients.size() < 6)
        gradients.push_back(Tensor::zeros(gradient.shape(), gradient.dtype(), gradient.device()));
    for (Tensor& each : gradients) each = each.to(gradient.dtype());
    return gradients;
}

void check_inputs(const std::vector<Tensor>& inputs, const GlobalLocalOptions& options) {
    const Tensor& query = inputs[0];
    for (const Tensor& input : inputs)
        check(input.rank() == 4 && input.shape() == query.shape() && input.dtype() == query.dtype() &&
                  input.device() == query.device() && is_float(input.dtype()),
              "global_local_attention: all six inputs must be (B, T, H, D) of one float dtype on one device; one is ",
              input.shape(), " ", input.dtype(), ", the query ", query.shape(), " ", query.dtype());
    check(options.window >= 0 && options.window % 2 == 0, "global_local_attention: window ", options.window,
          " must be even and not negative");
    const Shape tokens{query.size(0), query.size(1)}, rows{query.size(0)};
    check(!options.global_tokens.defined() ||
              (options.global_tokens.dtype() == DType::Bool && options.global_tokens.shape() == tokens),
          "global_local_attention: global_tokens must be bool of ", tokens, ", not ", options.global_tokens.dtype(),
          " of ", options.global_tokens.shape());
    check(!options.lengths.defined() || (options.lengths.dtype() == DType::I64 && options.lengths.shape() == rows),
          "global_local_attention: lengths must be i64 of ", rows, ", not ", options.lengths.dtype(), " of ",
          options.lengths.shape());
}

}  // namespace

Tensor global_local_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& global_query,
                              const Tensor& global_key, const Tensor& global_value, const GlobalLocalOptions& options) {
    const std::vector<Tensor> inputs{query, key, value, global_query, global_key, global_value};
    check_inputs(inputs, options);
    std::vector<Tensor> dense;
    for (const Tensor& input : inputs) dense.push_back(with_dense_rows(input));
    const auto pattern = std::make_shared<const Pattern>(query.shape(), query.device(), options);
    Parts parts;
    const Tensor out = forward(*pattern, dense, parts);
    return record("global_local_attention", out, inputs, [pattern, parts](const Tensor& gradient) -> Gradients {
        return backward(*pattern, parts, gradient);
    });
}

}  // namespace tessera::ops
