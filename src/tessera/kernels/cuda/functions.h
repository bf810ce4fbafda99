// Elementary functions in device code, for float and double. NaN and the infinities give what the standard library
// gives.
#pragma once

#include <cmath>

namespace tessera::kernels::cuda::functions {

// e^{−|x|}: no overflow on either side of zero.
template <class T>
__device__ T decay(T x) {
    return std::exp(-std::abs(x));
}

template <class T>
__device__ T sigmoid(T x) {
    const T m = decay(x);
    return (x < 0 ? m : T(1)) / (1 + m);
}
template <class T>
__device__ T sigmoid_derivative(T x) {
    const T m = decay(x);
    return m / ((1 + m) * (1 + m));
}

// 1 − tanh² x, without cancellation where tanh is near ±1.
template <class T>
__device__ T tanh_derivative(T x) {
    return 4 * sigmoid_derivative(2 * x);
}

// The standard normal distribution, cumulative.
template <class T>
__device__ T normal(T x) {
    return T(0.5) * std::erfc(x * T(-0.70710678118654752440));
}

// gelu(x) = x·Φ(x)  (Hendrycks and Gimpel 2016)
template <class T>
__device__ T gelu(T x) {
    return x * normal(x);
}
template <class T>
__device__ T gelu_derivative(T x) {
    return x * (T(0.39894228040143267794) * std::exp(T(-0.5) * x * x)) + normal(x);
}

// ½ (1 + tanh u) = sigmoid(2u) with u = √(2/π) (x + 0.044715 x³).
template <class T>
__device__ T gelu_tanh(T x) {
    return x * sigmoid(T(1.59576912160573071176) * x * (1 + T(0.044715) * x * x));
}
template <class T>
__device__ T gelu_tanh_derivative(T x) {
    const T factor = T(1.59576912160573071176), square = x * x;
    const T slope = factor * (1 + T(3 * 0.044715) * square);
    const T s = sigmoid(factor * x * (1 + T(0.044715) * square));
    return x * slope * (s * (1 - s)) + s;
}

// silu(x) = x·sigmoid(x)
template <class T>
__device__ T silu(T x) {
    return x * sigmoid(x);
}
template <class T>
__device__ T silu_derivative(T x) {
    const T s = sigmoid(x);
    return s * (1 + x * (1 - s));
}

}  // namespace tessera::kernels::cuda::functions
