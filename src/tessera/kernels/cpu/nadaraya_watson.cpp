#include "tessera/kernels/nadaraya_watson.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tessera/core/parallel.h"

namespace tessera::kernels::cpu {
namespace {

using kernels::NadarayaWatson;
using kernels::PoolingKernel;

template <class T>
T squared_distance(const T* query, const T* key, std::int64_t width) {
    T sum = 0;
    for (std::int64_t i = 0; i < width; ++i) sum += (query[i] - key[i]) * (query[i] - key[i]);
    return sum;
}

// Rows of one batch entry, and how they are reached from a row of (B·Q).
template <class T>
struct Rows {
    const NadarayaWatson& pooling;
    std::int64_t batches = pooling.queries.size(0), queries = pooling.queries.size(1);
    std::int64_t keys = pooling.keys.size(1), width = pooling.queries.size(2);

    const T* query(std::int64_t row) const { return pooling.queries.as<T>() + row * width; }
    const T* key(std::int64_t batch, std::int64_t k) const { return pooling.keys.as<T>() + (batch * keys + k) * width; }
    T* weights(std::int64_t row) const { return pooling.weights.as<T>() + row * keys; }
    std::int64_t grain() const { return std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, keys * width)); }
};

// The kernel's values before they are normalised, and their sum.
template <class T>
T kernel_row(const Rows<T>& rows, std::int64_t row, T* out) {
    const auto reach = static_cast<T>(rows.pooling.width);
    T largest = -std::numeric_limits<T>::infinity(), sum = 0;
    for (std::int64_t k = 0; k < rows.keys; ++k) {
        const T square = squared_distance(rows.query(row), rows.key(row / rows.queries, k), rows.width);
        switch (rows.pooling.kernel) {
            case PoolingKernel::Gaussian: out[k] = -square / (2 * reach * reach); break;
            case PoolingKernel::Boxcar: out[k] = std::sqrt(square) <= reach ? 1 : 0; break;
            case PoolingKernel::Epanechnikov: out[k] = std::max(T(0), 1 - std::sqrt(square) / reach); break;
        }
        largest = std::max(largest, out[k]);
    }
    for (std::int64_t k = 0; k < rows.keys; ++k) {
        if (rows.pooling.kernel == PoolingKernel::Gaussian) out[k] = std::exp(out[k] - largest);
        sum += out[k];
    }
    return sum;
}

template <class T>
void forward(const NadarayaWatson& pooling) {
    const Rows<T> rows{pooling};
    parallel_for(rows.batches * rows.queries, rows.grain(), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            T* weights = rows.weights(row);
            const T sum = kernel_row(rows, row, weights);
            const T factor = sum != 0 ? 1 / sum : 0;
            for (std::int64_t k = 0; k < rows.keys; ++k) weights[k] *= factor;
        }
    });
}

// out[k]: the factor by which q − k enters the gradient of q; that of k gets the same with the other sign.
template <class T>
void pull_row(const Rows<T>& rows, std::int64_t row, const T* weights_gradient, T* out) {
    const auto reach = static_cast<T>(rows.pooling.width);
    const T* weights = rows.weights(row);
    T mean = 0;
    for (std::int64_t k = 0; k < rows.keys; ++k) mean += weights[k] * weights_gradient[k];
    if (rows.pooling.kernel == PoolingKernel::Gaussian) {
        for (std::int64_t k = 0; k < rows.keys; ++k)
            out[k] = -weights[k] * (weights_gradient[k] - mean) / (reach * reach);
        return;
    }
    const T sum = kernel_row(rows, row, out);
    for (std::int64_t k = 0; k < rows.keys; ++k) {
        if (out[k] == 0) continue;  // beyond reach
        const T distance = std::sqrt(squared_distance(rows.query(row), rows.key(row / rows.queries, k), rows.width));
        const bool at_tip = distance == 0;
        out[k] = at_tip ? 0 : -(weights_gradient[k] - mean) / (sum * reach * distance);
    }
}

template <class T>
void backward(const NadarayaWatson& pooling, const View& weights_gradient, const View& queries_gradient,
              const View& keys_gradient) {
    const Rows<T> rows{pooling};
    const std::int64_t count = rows.batches * rows.queries;
    std::vector<T> pulls(static_cast<std::size_t>(count * rows.keys));
    if (pooling.kernel != PoolingKernel::Boxcar)
        parallel_for(count, rows.grain(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row)
                pull_row(rows, row, weights_gradient.as<T>() + row * rows.keys, pulls.data() + row * rows.keys);
        });
    const auto add = [&](T factor, const T* to, const T* from, T* out) {
        for (std::int64_t i = 0; i < rows.width; ++i) out[i] += factor * (to[i] - from[i]);
    };
    parallel_for(count, rows.grain(), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            T* out = queries_gradient.as<T>() + row * rows.width;
            std::fill_n(out, rows.width, T(0));
            for (std::int64_t k = 0; k < rows.keys; ++k)
                add(pulls[static_cast<std::size_t>(row * rows.keys + k)], rows.query(row),
                    rows.key(row / rows.queries, k), out);
        }
    });
    parallel_for(rows.batches * rows.keys, rows.grain(), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t batch = i / rows.keys, k = i % rows.keys;
            T* out = keys_gradient.as<T>() + i * rows.width;
            std::fill_n(out, rows.width, T(0));
            for (std::int64_t row = batch * rows.queries; row < (batch + 1) * rows.queries; ++row)
                add(pulls[static_cast<std::size_t>(row * rows.keys + k)], rows.key(batch, k), rows.query(row), out);
        }
    });
}

void nadaraya_watson_on_cpu(const NadarayaWatson& pooling) {
    const DType dtype = pooling.weights.dtype;
    check(dtype == DType::F32 || dtype == DType::F64, "nadaraya_watson: needs f32 or f64, not ", dtype);
    dtype == DType::F32 ? forward<float>(pooling) : forward<double>(pooling);
}

void nadaraya_watson_backward_on_cpu(const NadarayaWatson& pooling, const View& weights_gradient,
                                     const View& queries_gradient, const View& keys_gradient) {
    const DType dtype = pooling.weights.dtype;
    check(dtype == DType::F32 || dtype == DType::F64, "nadaraya_watson: needs f32 or f64, not ", dtype);
    if (dtype == DType::F32)
        backward<float>(pooling, weights_gradient, queries_gradient, keys_gradient);
    else
        backward<double>(pooling, weights_gradient, queries_gradient, keys_gradient);
}

const RegisterKernel register_forward{kernels::nadaraya_watson, DeviceKind::CPU, nadaraya_watson_on_cpu};
const RegisterKernel register_backward{kernels::nadaraya_watson_backward, DeviceKind::CPU,
                                       nadaraya_watson_backward_on_cpu};

}  // namespace
}  // namespace tessera::kernels::cpu
