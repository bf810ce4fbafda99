#include "tessera/training/optimizers/parameter_buffer.h"

#include <algorithm>
#include <cmath>

#include "tessera/core/memory.h"
#include "tessera/kernels/optimizer.h"

namespace tessera::training {
namespace {

bool is_same(const Tensor& a, const Tensor& b) {
    return a.storage() == b.storage() && a.offset() == b.offset() && a.shape() == b.shape() &&
           a.strides() == b.strides();
}

struct Group {
    Parameter first;
    std::vector<Tensor*> tied;  // further names of the same tensor
    bool decays;
};

std::vector<Group> group_tied(const std::vector<Parameter>& parameters, const Decays& decays) {
    std::vector<Group> groups;
    for (const Parameter& parameter : parameters) {
        if (!parameter.tensor.requires_grad()) continue;
        const auto known = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
            return is_same(group.first.tensor, parameter.tensor);
        });
        if (known != groups.end())
            known->tied.push_back(&parameter.tensor);
        else
            groups.push_back({parameter, {}, decays(parameter)});
    }
    return groups;
}

void check_alike(const std::vector<Group>& groups) {
    check(!groups.empty(), "parameter buffer: no parameter requires a gradient");
    const Parameter& first = groups.front().first;
    for (const Group& group : groups) {
        const Tensor& tensor = group.first.tensor;
        check(tensor.dtype() == first.tensor.dtype() && tensor.device() == first.tensor.device(),
              "parameter buffer: ", group.first.name, " is ", tensor.dtype(), " on ", tensor.device(), ", but ",
              first.name, " is ", first.tensor.dtype(), " on ", first.tensor.device());
    }
}

std::vector<Parameter> parameters_of(nn::Module& module) {
    std::vector<Parameter> parameters;
    for (const nn::NamedTensor& parameter : nn::parameters(module))
        parameters.push_back({parameter.name, *parameter.tensor});
    return parameters;
}

}  // namespace

bool is_matrix(const Parameter& parameter) { return parameter.tensor.rank() >= 2; }

Tensor ParameterBuffer::Segment::of(const Tensor& flat) const {
    return flat.with_layout(shape, contiguous_strides(shape), flat.offset() + offset);
}

ParameterBuffer::ParameterBuffer(nn::Module& module, const Decays& decays)
    : ParameterBuffer(parameters_of(module), decays) {}

ParameterBuffer::ParameterBuffer(const std::vector<Parameter>& parameters, const Decays& decays) {
    const std::vector<Group> groups = group_tied(parameters, decays);
    check_alike(groups);
    const DType dtype = groups.front().first.tensor.dtype();
    const Device device = groups.front().first.tensor.device();
    const auto step = static_cast<std::int64_t>(memory_alignment) / bytes_of(dtype, 1);
    std::vector<const Group*> order;
    std::int64_t elements = 0;
    for (const bool decaying : {true, false}) {
        for (const Group& group : groups) {
            if (group.decays != decaying) continue;
            order.push_back(&group);
            segments_.push_back({group.first.name, group.first.tensor.shape(), elements, group.decays});
            elements += (group.first.tensor.elements() + step - 1) / step * step;
        }
        if (decaying) decayed_elements_ = elements;
    }
    values_ = Tensor::zeros({elements}, dtype, device);
    gradients_ = Tensor::zeros({elements}, dtype == DType::F64 ? DType::F64 : DType::F32, device);
    for (std::size_t i = 0; i < order.size(); ++i) {
        const Tensor place = segments_[i].of(values_);
        place.copy_from(order[i]->first.tensor.detach());
        const auto move = [&](Tensor& tensor) {
            const auto state = order[i]->first.tensor.gradient_state();
            tensor = place;
            tensor.set_gradient_state(state);
        };
        for (Tensor* tied : order[i]->tied) move(*tied);
        move(order[i]->first.tensor);
        order[i]->first.tensor.set_grad(segments_[i].of(gradients_));
    }
}

double ParameterBuffer::gradient_norm() const {
    const Tensor squares = Tensor::empty({}, DType::F64, gradients_.device());
    kernels::squared_norm.on(gradients_.device())(gradients_.view(), squares.view());
    return std::sqrt(squares.item());
}

double ParameterBuffer::clip_gradients(double max_norm) const {
    check(max_norm > 0, "clip_gradients: a norm of at most ", max_norm, " cannot be kept");
    const double norm = gradient_norm();
    if (std::isfinite(norm)) scale_gradients(std::min(1.0, clipping_factor(norm, max_norm)));
    return norm;
}

void ParameterBuffer::scale_gradients(double factor) const {
    if (factor != 1) kernels::scale_in_place.on(gradients_.device())(factor, gradients_.view());
}

}  // namespace tessera::training
