// One harness for every op. A case names the op, the shapes and ranges of its inputs, and its plain definition; the
// harness runs it in every mode: against the definition in f64, finite-difference gradients, f32 and bf16,
// non-contiguous inputs, one thread against two, and device against device. Cases register themselves:
//
//     const RegisterCases NAME_cases{[](Cases& out) {
//         for (std::int64_t n : odd_sizes)
//             out.add({.name = text_of("exp/", n), .inputs = {{.shape = {3, n}}},
//                      .op = [](const Tensors& in) { return Tensors{ops::exp(in[0])}; },
//                      .reference = [](const Tensors& in) { return Tensors{map(in[0], [](double x) { return
//                      std::exp(x); })}; }});
//     }};
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera::testing {

using Tensors = std::vector<Tensor>;

inline constexpr std::int64_t odd_sizes[] = {1, 31, 33, 127};

struct Input {
    Shape shape;
    double low = -1, high = 1;   // values are uniform in [low, high)
    bool differentiable = true;  // false: values stay as they are in FD and get no gradient (masks, indices)
    DType dtype = DType::F64;    // F64 stands for "the dtype under test"; anything else stays what it is
    Tensor values = {};          // fixed values instead of random ones (indices, lengths, targets)
};

struct OpCase {
    std::string name;
    std::vector<Input> inputs;
    std::function<Tensors(const Tensors&)> op;
    // The plain definition; called with f64 inputs. Loops over to_vector<double>() or compositions of elementary ops.
    std::function<Tensors(const Tensors&)> reference;
    bool gradient = true;  // whether the op has one
    bool half = true;      // whether bf16 is tried
    bool f32 = true;
    // Relative error ‖a − b‖ / ‖b‖ per output (and per gradient) against the f64 result on the same rounded inputs.
    double f32_tolerance = 2e-6;
    double bf16_tolerance = 1e-2;
    double gradient_tolerance = 1e-6;  // of finite differences in f64
    double step = 1e-5;                // of the finite differences
    bool cuda = false;                 // whether CUDA kernels exist for it; then device is compared with device
};

inline void PrintTo(const OpCase& op_case, std::ostream* out) { *out << op_case.name; }

class Cases {
   public:
    void add(OpCase op_case) { cases_.push_back(std::move(op_case)); }
    const std::vector<OpCase>& list() const { return cases_; }

   private:
    std::vector<OpCase> cases_;
};

struct RegisterCases {
    explicit RegisterCases(void (*add)(Cases&));
};
const std::vector<OpCase>& all_cases();

// A case's inputs, `dtype` being the one under test, and which of them get a gradient.
Tensors make_inputs(const OpCase& op_case, DType dtype);
bool takes_gradient(const OpCase& op_case, std::size_t input, const Tensor& value);
// Fixed random weights per output element turn any outputs into one scalar whose gradient sees every path.
Tensors output_weights(const Tensors& outputs);

// Helpers for plain definitions, always in f64 on the CPU.
Tensor map(const Tensor& x, const std::function<double(double)>& f);
Tensor from_doubles(const std::vector<double>& values, const Shape& shape);

double relative_error(const Tensor& value, const Tensor& reference);  // ‖a − b‖ / ‖b‖ in f64; NaN counts as infinite
Tensor random_tensor(const Shape& shape, std::uint64_t seed, double low = -1, double high = 1,
                     DType dtype = DType::F64);
// The same values with other strides: every dimension padded or permuted in memory.
Tensor scrambled_layout(const Tensor& x);
bool same_bits(const Tensor& a, const Tensor& b);

}  // namespace tessera::testing
