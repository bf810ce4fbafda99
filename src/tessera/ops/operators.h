// Arithmetic as it is written: a + b, 2.0 * x, 1.0 - x. In the namespace of Tensor, so that they are found anywhere.
#pragma once

#include "tessera/ops/binary.h"
#include "tessera/ops/unary.h"

namespace tessera {

inline Tensor operator+(const Tensor& a, const Tensor& b) { return ops::add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return ops::sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return ops::mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return ops::div(a, b); }
inline Tensor operator-(const Tensor& x) { return ops::neg(x); }

inline Tensor operator+(const Tensor& x, double value) { return ops::shift(x, value); }
inline Tensor operator-(const Tensor& x, double value) { return ops::shift(x, -value); }
inline Tensor operator*(const Tensor& x, double value) { return ops::scale(x, value); }
inline Tensor operator/(const Tensor& x, double value) {
    return ops::div(x, Tensor::scalar(value, x.dtype(), x.device()));
}
inline Tensor operator+(double value, const Tensor& x) { return ops::shift(x, value); }
inline Tensor operator-(double value, const Tensor& x) {
    return ops::sub(Tensor::scalar(value, x.dtype(), x.device()), x);
}
inline Tensor operator*(double value, const Tensor& x) { return ops::scale(x, value); }
inline Tensor operator/(double value, const Tensor& x) {
    return ops::div(Tensor::scalar(value, x.dtype(), x.device()), x);
}

}  // namespace tessera
