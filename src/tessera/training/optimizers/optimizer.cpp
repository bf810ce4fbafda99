#include "tessera/training/optimizers/optimizer.h"

namespace tessera::training {

Optimizer::Optimizer(const ParameterBuffer& parameters)
    : parameters_(parameters),
      master_(parameters.values().to(parameters.gradients().dtype())),
      steps_(Tensor::zeros({1}, DType::I64)) {}

void Optimizer::step(double learning_rate) {
    ++steps_.data<std::int64_t>()[0];
    update(learning_rate);
}

void Optimizer::visit_state(const StateVisitor& visit) const {
    visit("steps", steps_);
    if (rounded().defined()) visit_flat("master", master_, visit);
    visit_moments(visit);
}

Tensor Optimizer::zero_state() const { return Tensor::zeros(master_.shape(), master_.dtype(), master_.device()); }

void Optimizer::visit_flat(const std::string& label, const Tensor& flat, const StateVisitor& visit) const {
    for (const ParameterBuffer::Segment& segment : parameters_.segments())
        visit(label + "." + segment.name, segment.of(flat));
}

Tensor Optimizer::rounded() const {
    return master_.storage() == parameters_.values().storage() ? Tensor() : parameters_.values();
}

void Optimizer::over_decay_groups(
    const std::function<void(std::int64_t first, std::int64_t count, bool decays)>& body) const {
    const std::int64_t boundary = parameters_.decayed_elements(), end = parameters_.elements();
    if (boundary > 0) body(0, boundary, true);
    if (boundary < end) body(boundary, end - boundary, false);
}

View flat_piece(const Tensor& flat, std::int64_t first, std::int64_t count) {
    return flat.defined() ? flat.with_layout({count}, {1}, flat.offset() + first).view() : View{};
}

}  // namespace tessera::training
