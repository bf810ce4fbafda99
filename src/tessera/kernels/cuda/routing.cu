// A warp per row of router logits.
#include "tessera/kernels/routing.h"

#include <cmath>

#include "tessera/kernels/cuda/block_sum.h"
#include "tessera/kernels/cuda/stream.h"
#include "tessera/kernels/cuda/values.h"

namespace tessera::kernels::cuda {
namespace {

using kernels::RoutingRule;

constexpr unsigned all_lanes = 0xffffffffu;

template <class T>
__device__ T warp_max(T value) {
#pragma unroll
    for (int distance = warp_size / 2; distance > 0; distance /= 2)
        value = ::max(value, __shfl_xor_sync(all_lanes, value, distance));
    return value;
}

// What turns a logit into its probability.
template <class Compute>
struct Softmax {
    Compute most, sum;
    __device__ Compute operator()(Compute logit) const { return std::exp(logit - most) / sum; }
};

template <class T>
__device__ Softmax<compute_t<T>> softmax_of(const T* logits, std::int64_t count) {
    using Compute = compute_t<T>;
    Compute most = widen(logits[0]), sum = 0;
    for (std::int64_t i = threadIdx.x; i < count; i += warp_size) most = ::max(most, widen(logits[i]));
    most = warp_max(most);
    for (std::int64_t i = threadIdx.x; i < count; i += warp_size) sum += std::exp(widen(logits[i]) - most);
    return {most, warp_sum(sum)};
}

// The best of those still allowed, then no longer allowed. The lower index first among equals; always a valid index.
template <class Compute, class Score>
__device__ std::int64_t take_best(std::int64_t count, unsigned char* allowed, Score&& score) {
    Compute value = 0;
    std::int64_t best = -1;
    for (std::int64_t i = threadIdx.x; i < count; i += warp_size) {
        if (!allowed[i]) continue;
        const Compute candidate = score(i);
        if (best >= 0 && !(candidate > value)) continue;
        best = i;
        value = candidate;
    }
#pragma unroll
    for (int distance = warp_size / 2; distance > 0; distance /= 2) {
        const Compute other_value = __shfl_xor_sync(all_lanes, value, distance);
        const std::int64_t other = __shfl_xor_sync(all_lanes, best, distance);
        if (other < 0) continue;
        if (best >= 0 && !(other_value > value || (other_value == value && other < best))) continue;
        best = other;
        value = other_value;
    }
    best = __shfl_sync(all_lanes, best, 0);
    __syncwarp();
    if (threadIdx.x == 0) allowed[best] = 0;
    __syncwarp();
    return best;
}

// Group-limited routing (DeepSeek-V2): only experts of the groups that hold the best single experts.
template <class T>
__device__ void allow_groups(const T* logits, std::int64_t experts, const RoutingRule& rule, unsigned char* allowed) {
    unsigned char* remaining = allowed + experts;
    const std::int64_t size = experts / rule.groups;
    for (std::int64_t i = threadIdx.x; i < experts; i += warp_size) allowed[i] = 0;
    for (std::int64_t i = threadIdx.x; i < rule.groups; i += warp_size) remaining[i] = 1;
    __syncwarp();
    for (std::int64_t taken = 0; taken < rule.top_groups; ++taken) {
        const std::int64_t group = take_best<compute_t<T>>(rule.groups, remaining, [&](std::int64_t g) {
            auto best = widen(logits[g * size]);
            for (std::int64_t i = 1; i < size; ++i) best = ::max(best, widen(logits[g * size + i]));
            return best;
        });
        for (std::int64_t i = threadIdx.x; i < size; i += warp_size) allowed[group * size + i] = 1;
    }
    __syncwarp();
}

template <class T>
__global__ void __launch_bounds__(warp_size)
    route_kernel(const T* logits, std::int64_t stride, RoutingRule rule, compute_t<T>* probabilities,
                 std::int64_t* indices, T* weights, std::int64_t experts, std::int64_t k) {
    using Compute = compute_t<T>;
    extern __shared__ unsigned char allowed[];  // of each expert, then of each group
    const std::int64_t row = blockIdx.x;
    logits += row * stride;
    probabilities += row * experts;
    indices += row * k;
    const Softmax<Compute> softmax = softmax_of(logits, experts);
    for (std::int64_t e = threadIdx.x; e < experts; e += warp_size) probabilities[e] = softmax(widen(logits[e]));
    if (rule.groups > 1)
        allow_groups(logits, experts, rule, allowed);
    else
        for (std::int64_t i = threadIdx.x; i < experts; i += warp_size) allowed[i] = 1;
    __syncwarp();
    Compute sum = 0;
    for (std::int64_t s = 0; s < k; ++s) {
        // Logits decide, not probabilities: those may all have become 0.
        const std::int64_t best =
            take_best<Compute>(experts, allowed, [&](std::int64_t e) { return widen(logits[e]); });
        sum += probabilities[best];
        if (threadIdx.x == 0) indices[s] = best;
    }
    __syncwarp();
    const Compute factor = static_cast<Compute>(rule.scaling) / (rule.normalise ? sum : 1);
    for (std::int64_t s = threadIdx.x; s < k; s += warp_size)
        weights[row * k + s] = convert_to<T>(factor * probabilities[indices[s]]);
}

unsigned blocks_for(const View& logits, const char* who) {
    check(logits.shape[0] < std::int64_t{1} << 31, who, ": ", logits.shape, " are too many rows");
    return static_cast<unsigned>(logits.shape[0]);
}

void route_on_cuda(const View& logits, const RoutingRule& rule, const View& probabilities, const View& indices,
                   const View& weights) {
    if (logits.elements() == 0) return;
    const std::int64_t experts = logits.shape[1], shared = experts + rule.groups;
    check(shared <= 48 * 1024, "route: ", experts, " experts are too many");
    visit_float(logits.dtype, "route", [&]<class T>(Type<T>) {
        route_kernel<<<blocks_for(logits, "route"), warp_size, static_cast<std::size_t>(shared),
                       stream_of(logits.device.index)>>>(logits.as<const T>(), logits.strides[0], rule,
                                                         probabilities.as<compute_t<T>>(), indices.as<std::int64_t>(),
                                                         weights.as<T>(), experts, indices.shape[1]);
        check_launch("route");
    });
}

// With w_i = c p_i / S over the chosen: dp_i = c (g_i − Σ_j g_j p_j / S) / S; without S: dp_i = c g_i. Then through the
// softmax, where only chosen experts have a dp.
template <class T>
__global__ void __launch_bounds__(warp_size)
    route_backward_kernel(const compute_t<T>* p, const std::int64_t* chosen, const T* gradient, RoutingRule rule,
                          std::int64_t experts, std::int64_t k, T* out) {
    using Compute = compute_t<T>;
    p += blockIdx.x * experts;
    out += blockIdx.x * experts;
    chosen += blockIdx.x * k;
    gradient += blockIdx.x * k;
    Compute sum = 0, along = 0;
    for (std::int64_t s = 0; s < k; ++s) {
        sum += p[chosen[s]];
        along += widen(gradient[s]) * p[chosen[s]];
    }
    const Compute scaling = static_cast<Compute>(rule.scaling) / (rule.normalise ? sum : 1);
    const Compute shift = rule.normalise ? along / sum : 0;
    // Σ_j dp_j p_j, which is 0 where the weights are normalised.
    const Compute mean = rule.normalise ? 0 : scaling * along;
    for (std::int64_t e = threadIdx.x; e < experts; e += warp_size) out[e] = convert_to<T>(-p[e] * mean);
    __syncwarp();
    for (std::int64_t s = threadIdx.x; s < k; s += warp_size)
        out[chosen[s]] = convert_to<T>(p[chosen[s]] * (scaling * (widen(gradient[s]) - shift) - mean));
}

void route_backward_on_cuda(const View& probabilities, const View& indices, const View& weight_gradient,
                            const RoutingRule& rule, const View& logit_gradient) {
    if (probabilities.elements() == 0) return;
    visit_float(logit_gradient.dtype, "route", [&]<class T>(Type<T>) {
        route_backward_kernel<<<blocks_for(probabilities, "route"), warp_size, 0,
                                stream_of(logit_gradient.device.index)>>>(
            probabilities.as<const compute_t<T>>(), indices.as<const std::int64_t>(), weight_gradient.as<const T>(),
            rule, probabilities.shape[1], indices.shape[1], logit_gradient.as<T>());
        check_launch("route_backward");
    });
}

// Each row's part of E · Σ_e shares_e · P_e.
template <class T>
__device__ compute_t<T> balance_of(const T* logits, const compute_t<T>* shares, std::int64_t experts,
                                   const Softmax<compute_t<T>>& softmax) {
    compute_t<T> dot = 0;
    for (std::int64_t e = threadIdx.x; e < experts; e += warp_size) dot += shares[e] * softmax(widen(logits[e]));
    return warp_sum(dot);
}

template <class T>
__global__ void __launch_bounds__(warp_size)
    load_balance_kernel(const T* logits, std::int64_t stride, const compute_t<T>* shares, std::int64_t experts,
                        compute_t<T> per_row, compute_t<T>* losses) {
    logits += blockIdx.x * stride;
    const auto loss = per_row * balance_of(logits, shares, experts, softmax_of(logits, experts));
    if (threadIdx.x == 0) losses[blockIdx.x] = loss;
}

template <class T>
__global__ void __launch_bounds__(warp_size)
    load_balance_backward_kernel(const T* logits, std::int64_t stride, const compute_t<T>* shares,
                                 const compute_t<T>* factor, std::int64_t experts, compute_t<T> per_row, T* out) {
    logits += blockIdx.x * stride;
    out += blockIdx.x * experts;
    const auto softmax = softmax_of(logits, experts);
    const auto mean = balance_of(logits, shares, experts, softmax), slope = per_row * *factor;
    for (std::int64_t e = threadIdx.x; e < experts; e += warp_size)
        out[e] = convert_to<T>(slope * softmax(widen(logits[e])) * (shares[e] - mean));
}

double share_of_row(const View& logits) {
    return static_cast<double>(logits.shape[1]) / static_cast<double>(logits.shape[0]);
}

void load_balance_on_cuda(const View& logits, const View& shares, const View& losses) {
    if (logits.elements() == 0) return;
    visit_float(logits.dtype, "load_balance", [&]<class T>(Type<T>) {
        using Compute = compute_t<T>;
        load_balance_kernel<<<blocks_for(logits, "load_balance"), warp_size, 0, stream_of(logits.device.index)>>>(
            logits.as<const T>(), logits.strides[0], shares.as<const Compute>(), logits.shape[1],
            static_cast<Compute>(share_of_row(logits)), losses.as<Compute>());
        check_launch("load_balance");
    });
}

void load_balance_backward_on_cuda(const View& logits, const View& shares, const View& factor,
                                   const View& logit_gradient) {
    if (logits.elements() == 0) return;
    visit_float(logits.dtype, "load_balance", [&]<class T>(Type<T>) {
        using Compute = compute_t<T>;
        load_balance_backward_kernel<<<blocks_for(logits, "load_balance"), warp_size, 0,
                                       stream_of(logits.device.index)>>>(
            logits.as<const T>(), logits.strides[0], shares.as<const Compute>(), factor.as<const Compute>(),
            logits.shape[1], static_cast<Compute>(share_of_row(logits)), logit_gradient.as<T>());
        check_launch("load_balance_backward");
    });
}

const RegisterKernel register_route{kernels::route, DeviceKind::CUDA, route_on_cuda};
const RegisterKernel register_route_backward{kernels::route_backward, DeviceKind::CUDA, route_backward_on_cuda};
const RegisterKernel register_balance{kernels::load_balance, DeviceKind::CUDA, load_balance_on_cuda};
const RegisterKernel register_balance_backward{kernels::load_balance_backward, DeviceKind::CUDA,
                                               load_balance_backward_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
