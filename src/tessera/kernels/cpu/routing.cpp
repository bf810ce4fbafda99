#include "tessera/kernels/routing.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "tessera/core/parallel.h"
#include "tessera/kernels/cpu/convert.h"
#include "tessera/kernels/cpu/scratch.h"

namespace tessera::kernels::cpu {
namespace {

using kernels::RoutingRule;

std::int64_t rows_at_once(std::int64_t experts) {
    return std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, experts));
}

template <class T, class Compute>
void softmax_row(const T* logits, std::int64_t count, Compute* out) {
    Compute most = static_cast<Compute>(logits[0]), sum = 0;
    for (std::int64_t i = 1; i < count; ++i) most = std::max(most, static_cast<Compute>(logits[i]));
    for (std::int64_t i = 0; i < count; ++i) sum += out[i] = std::exp(static_cast<Compute>(logits[i]) - most);
    for (std::int64_t i = 0; i < count; ++i) out[i] /= sum;
}

// The best of those still allowed, then no longer allowed. The lower index first among equals; always a valid index.
template <class T>
std::int64_t take_best(const T* scores, std::span<char> allowed) {
    std::int64_t best = -1;
    for (std::size_t i = 0; i < allowed.size(); ++i)
        if (allowed[i] && (best < 0 || static_cast<compute_t<T>>(scores[i]) > static_cast<compute_t<T>>(scores[best])))
            best = static_cast<std::int64_t>(i);
    allowed[static_cast<std::size_t>(best)] = 0;
    return best;
}

// Logits decide, not probabilities: those may all have become 0. With DeepSeek-V2's group-limited routing only experts
// of the groups that hold the best single experts are allowed; `groups` is scratch, one for each.
template <class T>
void allow_experts(const T* scores, const RoutingRule& rule, std::span<char> groups, std::span<char> allowed) {
    std::fill(allowed.begin(), allowed.end(), 1);
    if (rule.groups <= 1) return;
    const std::size_t size = allowed.size() / groups.size();
    std::fill(groups.begin(), groups.end(), 0);
    // The best experts in turn open their groups, until enough are open; an open group's others are passed over.
    for (std::int64_t open = 0; open < rule.top_groups; ++open) {
        const std::size_t group = static_cast<std::size_t>(take_best(scores, allowed)) / size;
        groups[group] = 1;
        std::fill_n(allowed.begin() + static_cast<std::ptrdiff_t>(group * size), size, 0);
    }
    for (std::size_t expert = 0; expert < allowed.size(); ++expert) allowed[expert] = groups[expert / size];
}

template <class T>
void route_rows(const View& logits, const RoutingRule& rule, const View& probabilities, const View& indices,
                const View& weights) {
    using Compute = compute_t<T>;
    const std::int64_t experts = logits.shape[1], k = indices.shape[1];
    parallel_for(logits.shape[0], rows_at_once(experts), [&](std::int64_t begin, std::int64_t end) {
        const Scratch<char> scratch(experts + rule.groups);
        const std::span allowed(scratch.data(), static_cast<std::size_t>(experts));
        const std::span groups(scratch.data() + experts, static_cast<std::size_t>(rule.groups));
        for (std::int64_t row = begin; row < end; ++row) {
            const T* values = logits.as<T>() + row * logits.strides[0];
            Compute* p = probabilities.as<Compute>() + row * experts;
            softmax_row(values, experts, p);
            allow_experts(values, rule, groups, allowed);
            std::int64_t* chosen = indices.as<std::int64_t>() + row * k;
            Compute sum = 0;
            for (std::int64_t s = 0; s < k; ++s) sum += p[chosen[s] = take_best(values, allowed)];
            const Compute factor = static_cast<Compute>(rule.scaling) / (rule.normalise ? sum : 1);
            for (std::int64_t s = 0; s < k; ++s)
                weights.as<T>()[row * k + s] = convert<Compute, T>(factor * p[chosen[s]]);
        }
    });
}

void route_on_cpu(const View& logits, const RoutingRule& rule, const View& probabilities, const View& indices,
                  const View& weights) {
    visit_float(logits.dtype, "route",
                [&]<class T>(Type<T>) { route_rows<T>(logits, rule, probabilities, indices, weights); });
}

// With w_i = c p_i / S over the chosen: dp_i = c (g_i − Σ_j g_j p_j / S) / S; without S: dp_i = c g_i. Then through the
// softmax, where only chosen experts have a dp.
template <class T>
void route_backward_row(const compute_t<T>* p, const std::int64_t* chosen, const T* gradient, std::int64_t k,
                        const RoutingRule& rule, std::int64_t experts, T* out) {
    using Compute = compute_t<T>;
    Compute sum = 0, along = 0;
    for (std::int64_t s = 0; s < k; ++s) {
        sum += p[chosen[s]];
        along += static_cast<Compute>(gradient[s]) * p[chosen[s]];
    }
    const Compute scaling = static_cast<Compute>(rule.scaling) / (rule.normalise ? sum : 1);
    const Compute shift = rule.normalise ? along / sum : 0;
    // Σ_j dp_j p_j, which is 0 where the weights are normalised.
    const Compute mean = rule.normalise ? 0 : scaling * along;
    for (std::int64_t e = 0; e < experts; ++e) out[e] = convert<Compute, T>(-p[e] * mean);
    for (std::int64_t s = 0; s < k; ++s) {
        const Compute slope = scaling * (static_cast<Compute>(gradient[s]) - shift);
        out[chosen[s]] = convert<Compute, T>(p[chosen[s]] * (slope - mean));
    }
}

void route_backward_on_cpu(const View& probabilities, const View& indices, const View& weight_gradient,
                           const RoutingRule& rule, const View& logit_gradient) {
    const std::int64_t experts = probabilities.shape[1], k = indices.shape[1];
    visit_float(logit_gradient.dtype, "route", [&]<class T>(Type<T>) {
        parallel_for(probabilities.shape[0], rows_at_once(experts), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row)
                route_backward_row<T>(probabilities.as<compute_t<T>>() + row * experts,
                                      indices.as<std::int64_t>() + row * k, weight_gradient.as<T>() + row * k, k, rule,
                                      experts, logit_gradient.as<T>() + row * experts);
        });
    });
}

// Each row's part of E · Σ_e shares_e · P_e, and the softmax it came from.
template <class T>
compute_t<T> balance_row(const View& logits, const View& shares, std::int64_t row, compute_t<T>* p) {
    using Compute = compute_t<T>;
    softmax_row(logits.as<T>() + row * logits.strides[0], logits.shape[1], p);
    Compute dot = 0;
    for (std::int64_t e = 0; e < logits.shape[1]; ++e) dot += shares.as<Compute>()[e] * p[e];
    return dot;
}

void load_balance_on_cpu(const View& logits, const View& shares, const View& losses) {
    const double per_row = static_cast<double>(logits.shape[1]) / static_cast<double>(logits.shape[0]);
    visit_float(logits.dtype, "load_balance", [&]<class T>(Type<T>) {
        using Compute = compute_t<T>;
        parallel_for(logits.shape[0], rows_at_once(logits.shape[1]), [&](std::int64_t begin, std::int64_t end) {
            std::vector<Compute> p(static_cast<std::size_t>(logits.shape[1]));
            for (std::int64_t row = begin; row < end; ++row)
                losses.as<Compute>()[row] =
                    static_cast<Compute>(per_row) * balance_row<T>(logits, shares, row, p.data());
        });
    });
}

void load_balance_backward_on_cpu(const View& logits, const View& shares, const View& factor,
                                  const View& logit_gradient) {
    const std::int64_t experts = logits.shape[1];
    const double per_row = static_cast<double>(experts) / static_cast<double>(logits.shape[0]);
    visit_float(logits.dtype, "load_balance", [&]<class T>(Type<T>) {
        using Compute = compute_t<T>;
        const Compute slope = static_cast<Compute>(per_row) * *factor.as<Compute>();
        parallel_for(logits.shape[0], rows_at_once(experts), [&](std::int64_t begin, std::int64_t end) {
            std::vector<Compute> p(static_cast<std::size_t>(experts));
            for (std::int64_t row = begin; row < end; ++row) {
                const Compute mean = balance_row<T>(logits, shares, row, p.data());
                for (std::int64_t e = 0; e < experts; ++e)
                    logit_gradient.as<T>()[row * experts + e] =
                        convert<Compute, T>(slope * p[static_cast<std::size_t>(e)] * (shares.as<Compute>()[e] - mean));
            }
        });
    });
}

const RegisterKernel register_route{kernels::route, DeviceKind::CPU, route_on_cpu};
const RegisterKernel register_route_backward{kernels::route_backward, DeviceKind::CPU, route_backward_on_cpu};
const RegisterKernel register_balance{kernels::load_balance, DeviceKind::CPU, load_balance_on_cpu};
const RegisterKernel register_balance_backward{kernels::load_balance_backward, DeviceKind::CPU,
                                               load_balance_backward_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
