#include "tessera/training/optimizers/adafactor.h"

#include <algorithm>
#include <cmath>

#include "tessera/kernels/optimizer.h"

namespace tessera::training {
namespace {

// As the kernel wants it: (L, R, C) for rank two or more, (N) otherwise.
Shape matrices(const Shape& shape) {
    if (shape.rank() < 2) return {shape.elements()};
    std::int64_t stack = 1;
    for (int i = 0; i + 2 < shape.rank(); ++i) stack *= shape[i];
    return {stack, shape.at(-2), shape.at(-1)};
}

View piece(const Tensor& flat, const ParameterBuffer::Segment& segment, const Shape& shape) {
    if (!flat.defined()) return {};
    return flat.with_layout(shape, contiguous_strides(shape), flat.offset() + segment.offset).view();
}

}  // namespace

Adafactor::Adafactor(const ParameterBuffer& parameters, const AdafactorOptions& options)
    : Optimizer(parameters), options_(options), first_moment_(options.beta1 != 0 ? zero_state() : Tensor()) {
    const auto zeros = [&](const Shape& shape) { return Tensor::zeros(shape, master().dtype(), master().device()); };
    for (const ParameterBuffer::Segment& segment : parameters.segments()) {
        const Shape shape = matrices(segment.shape);
        if (shape.rank() == 3)
            moments_.push_back(
                {.row = zeros({shape[0], shape[1]}), .column = zeros({shape[0], shape[2]}), .second = {}});
        else
            moments_.push_back({.row = {}, .column = {}, .second = zeros(shape)});
    }
}

void Adafactor::update(double learning_rate) {
    const auto number = static_cast<double>(steps());
    if (options_.relative_step)
        learning_rate = std::min(options_.warmup_init ? 1e-6 * number : 1e-2, 1 / std::sqrt(number));
    kernels::AdafactorStep step{.learning_rate = learning_rate,
                                .beta1 = options_.beta1,
                                .beta2 = 1 - std::pow(number, options_.decay_rate),
                                .epsilon_square = options_.epsilon_square,
                                .epsilon_scale = options_.epsilon_scale,
                                .clip_threshold = options_.clip_threshold,
                                .scale_parameter = options_.scale_parameter};
    for (std::size_t i = 0; i < moments_.size(); ++i) {
        const ParameterBuffer::Segment& segment = parameters_.segments()[i];
        const Shape shape = matrices(segment.shape);
        step.weight_decay = segment.decays ? options_.weight_decay : 0;
        kernels::adafactor.on(master().device())(step, {.values = piece(master(), segment, shape),
                                                        .gradients = piece(parameters_.gradients(), segment, shape),
                                                        .row_moment = moments_[i].row.view(),
                                                        .column_moment = moments_[i].column.view(),
                                                        .second_moment = moments_[i].second.view(),
                                                        .first_moment = piece(first_moment_, segment, shape),
                                                        .rounded = piece(rounded(), segment, shape)});
    }
}

void Adafactor::visit_moments(const StateVisitor& visit) const {
    for (std::size_t i = 0; i < moments_.size(); ++i) {
        const std::string& name = parameters_.segments()[i].name;
        if (moments_[i].second.defined()) {
            visit("second_moment." + name, moments_[i].second);
            continue;
        }
        visit("row_moment." + name, moments_[i].row);
        visit("column_moment." + name, moments_[i].column);
    }
    if (first_moment_.defined()) visit_flat("first_moment", first_moment_, visit);
}

}  // namespace tessera::training
