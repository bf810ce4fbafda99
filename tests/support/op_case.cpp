#include "support/op_case.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "tessera/core/random.h"
#include "tessera/ops/views.h"
#include "tessera/tensor/tape.h"

namespace tessera::testing {
namespace {
std::vector<void (*)(Cases&)>& registered() {
    static std::vector<void (*)(Cases&)> functions;
    return functions;
}
}  // namespace

RegisterCases::RegisterCases(void (*add)(Cases&)) { registered().push_back(add); }

const std::vector<OpCase>& all_cases() {
    static const Cases cases = [] {
        Cases collected;
        for (auto* add : registered()) add(collected);
        return collected;
    }();
    return cases.list();
}

Tensor from_doubles(const std::vector<double>& values, const Shape& shape) { return Tensor::from(values, shape); }

Tensor map(const Tensor& x, const std::function<double(double)>& f) {
    std::vector<double> values = x.to_vector<double>();
    for (double& value : values) value = f(value);
    return from_doubles(values, x.shape());
}

Tensors make_inputs(const OpCase& op_case, DType dtype) {
    Tensors inputs;
    std::uint64_t seed = 1;
    for (const Input& input : op_case.inputs) {
        ++seed;
        if (input.values.defined()) {
            inputs.push_back(input.dtype == DType::F64 && is_float(input.values.dtype()) ? input.values.to(dtype)
                                                                                         : input.values);
            continue;
        }
        const DType wanted = input.dtype == DType::F64 ? dtype : input.dtype;
        inputs.push_back(random_tensor(input.shape, seed, input.low, input.high).to(wanted));
    }
    return inputs;
}

bool takes_gradient(const OpCase& op_case, std::size_t i, const Tensor& input) {
    return op_case.gradient && op_case.inputs[i].differentiable && is_float(input.dtype());
}

Tensors output_weights(const Tensors& outputs) {
    Tensors weights;
    std::uint64_t seed = 1000;
    for (const Tensor& output : outputs)
        weights.push_back(is_float(output.dtype())
                              ? random_tensor(output.shape(), ++seed).to(output.dtype()).to(output.device())
                              : Tensor());
    return weights;
}

double relative_error(const Tensor& value, const Tensor& reference) {
    if (!(value.shape() == reference.shape())) return std::numeric_limits<double>::infinity();
    const std::vector<double> a = value.to_vector<double>(), b = reference.to_vector<double>();
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] == b[i]) {  // also equal infinities
            if (std::isfinite(b[i])) norm += b[i] * b[i];
            continue;
        }
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    const double error = norm > 1e-30 ? std::sqrt(difference / norm) : std::sqrt(difference);
    return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
}

Tensor random_tensor(const Shape& shape, std::uint64_t seed, double low, double high, DType dtype) {
    std::vector<double> values(static_cast<std::size_t>(shape.elements()));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = low + (high - low) * uniform(random_bits({.seed = seed, .stream = 77}, i));
    return from_doubles(values, shape).to(dtype);
}

Tensor scrambled_layout(const Tensor& x) {
    if (x.rank() == 0) return x;
    // Dimensions reversed in memory, each padded by one: no dimension is contiguous and rows do not merge.
    Shape padded = Shape::of_rank(x.rank());
    Shape reversed;
    for (int i = 0; i < x.rank(); ++i) {
        padded[i] = x.shape()[x.rank() - 1 - i] + 1;
        reversed.push_back(x.rank() - 1 - i);
    }
    Tensor room = ops::permute(Tensor::zeros(padded, x.dtype(), x.device()), reversed);
    for (int i = 0; i < x.rank(); ++i) room = ops::slice(room, i, 0, x.shape()[i]);
    room.copy_from(x);
    return room;
}

bool same_bits(const Tensor& a, const Tensor& b) {
    if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return false;
    const Tensor x = a.detach().to(cpu).contiguous(), y = b.detach().to(cpu).contiguous();
    return std::memcmp(x.view().data, y.view().data, static_cast<std::size_t>(bytes_of(x.dtype(), x.elements()))) == 0;
}

}  // namespace tessera::testing
