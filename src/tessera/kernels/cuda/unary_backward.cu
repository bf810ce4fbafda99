// Gradients of the functions of one operand, from what each op saved (its operand x or its result y).
#include "tessera/kernels/cuda/elementwise.h"
#include "tessera/kernels/cuda/functions.h"
#include "tessera/kernels/unary.h"

namespace tessera::kernels::cuda {
namespace {

struct ExpBackward {
    template <class T>
    __device__ T operator()(T y, T gradient) const {
        return gradient * y;
    }
};
struct LogBackward {
    template <class T>
    __device__ T operator()(T x, T gradient) const {
        return gradient / x;
    }
};
struct SqrtBackward {
    template <class T>
    __device__ T operator()(T y, T gradient) const {
        return gradient / (y + y);
    }
};
struct RsqrtBackward {
    template <class T>
    __device__ T operator()(T y, T gradient) const {
        return gradient * T(-0.5) * (y * (y * y));
    }
};
struct TanhBackward {
    template <class T>
    __device__ T operator()(T x, T gradient) const {
        return gradient * functions::tanh_derivative(x);
    }
};
struct SigmoidBackward {
    template <class T>
    __device__ T operator()(T x, T gradient) const {
        return gradient * functions::sigmoid_derivative(x);
    }
};
struct ReluBackward {
    template <class T>
    __device__ T operator()(T y, T gradient) const {
        return y > 0 ? gradient : T(0);
    }
};
struct GeluBackward {
    template <class T>
    __device__ T operator()(T x, T gradient) const {
        return gradient * functions::gelu_derivative(x);
    }
};
struct GeluTanhBackward {
    template <class T>
    __device__ T operator()(T x, T gradient) const {
        return gradient * functions::gelu_tanh_derivative(x);
    }
};
struct SiluBackward {
    template <class T>
    __device__ T operator()(T x, T gradient) const {
        return gradient * functions::silu_derivative(x);
    }
};
struct SoftCapBackward {
    double cap;
    template <class T>
    __device__ T operator()(T x, T gradient) const {
        return gradient * functions::tanh_derivative(x / static_cast<T>(cap));
    }
};

template <class Operation>
void backward_on_cuda(const View& saved, const View& y_gradient, const View& x_gradient) {
    map_on_cuda<3>("unary_backward", {&saved, &y_gradient, &x_gradient}, Operation{});
}
void soft_cap_backward_on_cuda(double cap, const View& x, const View& y_gradient, const View& x_gradient) {
    map_on_cuda<3>("soft_cap_backward", {&x, &y_gradient, &x_gradient}, SoftCapBackward{cap});
}

const RegisterKernel register_exp{kernels::exp_backward, DeviceKind::CUDA, backward_on_cuda<ExpBackward>};
const RegisterKernel register_log{kernels::log_backward, DeviceKind::CUDA, backward_on_cuda<LogBackward>};
const RegisterKernel register_sqrt{kernels::sqrt_backward, DeviceKind::CUDA, backward_on_cuda<SqrtBackward>};
const RegisterKernel register_rsqrt{kernels::rsqrt_backward, DeviceKind::CUDA, backward_on_cuda<RsqrtBackward>};
const RegisterKernel register_tanh{kernels::tanh_backward, DeviceKind::CUDA, backward_on_cuda<TanhBackward>};
const RegisterKernel register_sigmoid{kernels::sigmoid_backward, DeviceKind::CUDA, backward_on_cuda<SigmoidBackward>};
const RegisterKernel register_relu{kernels::relu_backward, DeviceKind::CUDA, backward_on_cuda<ReluBackward>};
const RegisterKernel register_gelu{kernels::gelu_backward, DeviceKind::CUDA, backward_on_cuda<GeluBackward>};
const RegisterKernel register_gelu_tanh{kernels::gelu_tanh_backward, DeviceKind::CUDA,
                                        backward_on_cuda<GeluTanhBackward>};
const RegisterKernel register_silu{kernels::silu_backward, DeviceKind::CUDA, backward_on_cuda<SiluBackward>};
const RegisterKernel register_soft_cap{kernels::soft_cap_backward, DeviceKind::CUDA, soft_cap_backward_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
