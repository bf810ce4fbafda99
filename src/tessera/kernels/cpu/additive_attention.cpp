#include "tessera/kernels/additive_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "tessera/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/kernels/cpu/additive_attention.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "tessera/kernels/cpu/row_math-inl.h"

#ifndef TESSERA_ADDITIVE_ROWS
#define TESSERA_ADDITIVE_ROWS
namespace tessera::kernels::cpu {

// Some of the A elements of one query and one key, and what the pair's score gradient adds to.
template <class T>
struct AdditivePair {
    const T *query, *key, *w_v;
    T score_gradient;
    T *query_gradient, *key_gradient, *w_v_gradient;
};

}  // namespace tessera::kernels::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Σ w_v·tanh(query + key)
template <class T>
HWY_INLINE T score(const T* query, const T* key, const T* w_v, std::int64_t count) {
    const row::Tag<T> d;
    return row::sum<T>(count, [&](auto at) HWY_ATTR {
        return hn::Mul(at.load(w_v), hn::Tanh(d, hn::Add(at.load(query), at.load(key))));
    });
}

template <class T>
struct PairGradientAt {
    AdditivePair<T> pair;

    template <class Place>
    HWY_INLINE void operator()(Place at) const {
        const row::Tag<T> d;
        const auto squashed = hn::Tanh(d, hn::Add(at.load(pair.query), at.load(pair.key)));
        const auto gradient = hn::Set(d, pair.score_gradient);
        const auto slope = hn::NegMulAdd(squashed, squashed, hn::Set(d, T(1)));
        const auto inner = hn::Mul(hn::Mul(gradient, at.load(pair.w_v)), slope);
        at.store(hn::Add(at.load(pair.query_gradient), inner), pair.query_gradient);
        at.store(hn::Add(at.load(pair.key_gradient), inner), pair.key_gradient);
        at.store(hn::MulAdd(gradient, squashed, at.load(pair.w_v_gradient)), pair.w_v_gradient);
    }
};

float score_f32(const float* query, const float* key, const float* w_v, std::int64_t count) {
    return score(query, key, w_v, count);
}
double score_f64(const double* query, const double* key, const double* w_v, std::int64_t count) {
    return score(query, key, w_v, count);
}
void pair_f32(const AdditivePair<float>& pair, std::int64_t count) {
    row::walk<float>(count, PairGradientAt<float>{pair});
}
void pair_f64(const AdditivePair<double>& pair, std::int64_t count) {
    row::walk<double>(count, PairGradientAt<double>{pair});
}

}  // namespace tessera::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::kernels::cpu {
namespace {

using kernels::AdditiveAttentionGradients;
using kernels::AdditiveAttentionViews;

HWY_EXPORT(score_f32);
HWY_EXPORT(score_f64);
HWY_EXPORT(pair_f32);
HWY_EXPORT(pair_f64);

std::int64_t keys_of(const AdditiveAttentionViews& views, std::int64_t batch) {
    const std::int64_t keys = views.key.size(1);
    if (!views.lengths.defined()) return keys;
    return std::clamp<std::int64_t>(views.lengths.as<std::int64_t>()[batch], 0, keys);
}

template <class T>
void softmax_in_place(T* row, std::int64_t count) {
    T largest = -std::numeric_limits<T>::infinity();
    for (std::int64_t k = 0; k < count; ++k) largest = std::max(largest, row[k]);
    T sum = 0;
    for (std::int64_t k = 0; k < count; ++k) sum += row[k] = std::exp(row[k] - largest);
    for (std::int64_t k = 0; k < count; ++k) row[k] /= sum;
}

template <class T>
void forward(const AdditiveAttentionViews& views, T (*score)(const T*, const T*, const T*, std::int64_t)) {
    const std::int64_t queries = views.query.size(1), keys = views.key.size(1), width = views.query.size(2);
    const std::int64_t grain = std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, keys * width));
    parallel_for(views.query.size(0) * queries, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t batch = i / queries, count = keys_of(views, batch);
            const T* key = views.key.as<T>() + batch * keys * width;
            T* row = views.weights.as<T>() + i * keys;
            for (std::int64_t k = 0; k < count; ++k)
                row[k] = score(views.query.as<T>() + i * width, key + k * width, views.w_v.as<T>(), width);
            softmax_in_place(row, count);
            std::fill(row + count, row + keys, T(0));
        }
    });
}

// The gradient of the scores behind a row of softmax weights.
template <class T>
void score_gradients(const T* weights, const T* weights_gradient, std::int64_t count, T* out) {
    T mean = 0;
    for (std::int64_t k = 0; k < count; ++k) mean += weights[k] * weights_gradient[k];
    for (std::int64_t k = 0; k < count; ++k) out[k] = weights[k] * (weights_gradient[k] - mean);
}

// A task is some of the A elements of one batch entry: there, queries, keys and w_v collect their gradients without
// meeting another task, and each tanh is computed once.
template <class T>
void backward(const AdditiveAttentionViews& views, const AdditiveAttentionGradients& gradients,
              void (*add_pair)(const AdditivePair<T>&, std::int64_t)) {
    constexpr std::int64_t slice = 64;
    const std::int64_t batches = views.query.size(0), queries = views.query.size(1);
    const std::int64_t keys = views.key.size(1), width = views.query.size(2);
    std::vector<T> scores(static_cast<std::size_t>(batches * queries * keys));
    parallel_for(batches * queries, 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            score_gradients(views.weights.as<T>() + i * keys, gradients.weights.as<T>() + i * keys,
                            keys_of(views, i / queries), scores.data() + i * keys);
    });
    const std::int64_t slices = (width + slice - 1) / slice;
    parallel_for(batches * slices, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = begin; task < end; ++task) {
            const std::int64_t batch = task / slices, first = task % slices * slice;
            const std::int64_t count = std::min(slice, width - first), reach = keys_of(views, batch);
            const auto at = [&](const View& view, std::int64_t row) { return view.as<T>() + row * width + first; };
            std::fill_n(at(gradients.w_v, batch), count, T(0));
            for (std::int64_t k = 0; k < keys; ++k) std::fill_n(at(gradients.key, batch * keys + k), count, T(0));
            for (std::int64_t q = 0; q < queries; ++q) {
                const std::int64_t row = batch * queries + q;
                std::fill_n(at(gradients.query, row), count, T(0));
                for (std::int64_t k = 0; k < reach; ++k)
                    add_pair({.query = at(views.query, row),
                              .key = at(views.key, batch * keys + k),
                              .w_v = views.w_v.as<T>() + first,
                              .score_gradient = scores[static_cast<std::size_t>(row * keys + k)],
                              .query_gradient = at(gradients.query, row),
                              .key_gradient = at(gradients.key, batch * keys + k),
                              .w_v_gradient = at(gradients.w_v, batch)},
                             count);
            }
        }
    });
}

void check_dtype(DType dtype) {
    check(dtype == DType::F32 || dtype == DType::F64, "additive_attention: needs f32 or f64, not ", dtype);
}

void additive_attention_on_cpu(const AdditiveAttentionViews& views) {
    check_dtype(views.weights.dtype);
    if (views.weights.dtype == DType::F32)
        forward(views, &HWY_DYNAMIC_DISPATCH(score_f32));
    else
        forward(views, &HWY_DYNAMIC_DISPATCH(score_f64));
}

void additive_attention_backward_on_cpu(const AdditiveAttentionViews& views,
                                        const AdditiveAttentionGradients& gradients) {
    check_dtype(views.weights.dtype);
    if (views.weights.dtype == DType::F32)
        backward(views, gradients, &HWY_DYNAMIC_DISPATCH(pair_f32));
    else
        backward(views, gradients, &HWY_DYNAMIC_DISPATCH(pair_f64));
}

const RegisterKernel register_forward{kernels::additive_attention, DeviceKind::CPU, additive_attention_on_cpu};
const RegisterKernel register_backward{kernels::additive_attention_backward, DeviceKind::CPU,
                                       additive_attention_backward_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
#endif
