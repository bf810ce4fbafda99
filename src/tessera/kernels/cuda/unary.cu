#include "tessera/kernels/unary.h"

#include "tessera/kernels/cuda/elementwise.h"
#include "tessera/kernels/cuda/functions.h"

namespace tessera::kernels::cuda {
namespace {

struct Negate {
    template <class T>
    __device__ T operator()(T x) const {
        return -x;
    }
};
struct Exp {
    template <class T>
    __device__ T operator()(T x) const {
        return std::exp(x);
    }
};
struct Log {
    template <class T>
    __device__ T operator()(T x) const {
        return std::log(x);
    }
};
struct Sqrt {
    template <class T>
    __device__ T operator()(T x) const {
        return std::sqrt(x);
    }
};
struct Rsqrt {
    template <class T>
    __device__ T operator()(T x) const {
        return 1 / std::sqrt(x);
    }
};
struct Tanh {
    template <class T>
    __device__ T operator()(T x) const {
        return std::tanh(x);
    }
};
struct Sigmoid {
    template <class T>
    __device__ T operator()(T x) const {
        return functions::sigmoid(x);
    }
};
struct Relu {
    template <class T>
    __device__ T operator()(T x) const {
        return x < 0 ? T(0) : x;  // NaN passes through
    }
};
struct Gelu {
    template <class T>
    __device__ T operator()(T x) const {
        return functions::gelu(x);
    }
};
struct GeluTanh {
    template <class T>
    __device__ T operator()(T x) const {
        return functions::gelu_tanh(x);
    }
};
struct Silu {
    template <class T>
    __device__ T operator()(T x) const {
        return functions::silu(x);
    }
};
struct SoftCap {
    double cap;
    template <class T>
    __device__ T operator()(T x) const {
        const auto limit = static_cast<T>(cap);
        return limit * std::tanh(x / limit);
    }
};

template <class Operation>
void unary_on_cuda(const View& x, const View& y) {
    map_on_cuda<2>("unary", {&x, &y}, Operation{});
}
void soft_cap_on_cuda(double cap, const View& x, const View& y) { map_on_cuda<2>("soft_cap", {&x, &y}, SoftCap{cap}); }

const RegisterKernel register_neg{kernels::neg, DeviceKind::CUDA, unary_on_cuda<Negate>};
const RegisterKernel register_exp{kernels::exp, DeviceKind::CUDA, unary_on_cuda<Exp>};
const RegisterKernel register_log{kernels::log, DeviceKind::CUDA, unary_on_cuda<Log>};
const RegisterKernel register_sqrt{kernels::sqrt, DeviceKind::CUDA, unary_on_cuda<Sqrt>};
const RegisterKernel register_rsqrt{kernels::rsqrt, DeviceKind::CUDA, unary_on_cuda<Rsqrt>};
const RegisterKernel register_tanh{kernels::tanh, DeviceKind::CUDA, unary_on_cuda<Tanh>};
const RegisterKernel register_sigmoid{kernels::sigmoid, DeviceKind::CUDA, unary_on_cuda<Sigmoid>};
const RegisterKernel register_relu{kernels::relu, DeviceKind::CUDA, unary_on_cuda<Relu>};
const RegisterKernel register_gelu{kernels::gelu, DeviceKind::CUDA, unary_on_cuda<Gelu>};
const RegisterKernel register_gelu_tanh{kernels::gelu_tanh, DeviceKind::CUDA, unary_on_cuda<GeluTanh>};
const RegisterKernel register_silu{kernels::silu, DeviceKind::CUDA, unary_on_cuda<Silu>};
const RegisterKernel register_soft_cap{kernels::soft_cap, DeviceKind::CUDA, soft_cap_on_cuda};

}  // namespace
}  // namespace tessera::kernels::cuda
