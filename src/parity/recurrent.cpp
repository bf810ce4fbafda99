// Recurrent layers and additive attention on their own: outputs, and gradients of a loss that weighs the outputs evenly
// from −1 to 1.
#include "ops/recurrent.h"

#include "ops/additive_attention.h"
#include "ops/binary.h"
#include "ops/linear.h"
#include "ops/views.h"
#include "parity/comparison.h"
#include "tensor/tape.h"

namespace tessera::parity {
namespace {

void backward_evenly(const Tensor& output) {
    const std::int64_t count = output.elements();
    const Tensor slope =
        ops::shift(ops::scale(Tensor::arange(count, DType::F32), 2.0 / static_cast<double>(count - 1)), -1);
    backward({output}, {ops::reshape(slope.to(output.device()), output.shape())});
}

Tensor leaf(const Case& run, const std::string& name) { return run.input(name).clone().set_requires_grad(); }

using Layer = ops::RecurrentResult (*)(const Tensor&, const ops::RecurrentWeights&);

void check_layer(const Case& run, const std::string& name, Layer layer) {
    const ops::RecurrentWeights weights{leaf(run, name + ".weight_ih_l0"), leaf(run, name + ".weight_hh_l0"),
                                        leaf(run, name + ".bias_ih_l0"), leaf(run, name + ".bias_hh_l0")};
    const Tensor output = layer(run.input("x"), weights).output;
    run.compare(name + ".output", output, forward_tolerance);
    backward_evenly(output);
    run.compare(name + ".grad.weight_ih_l0", weights.input.grad(), gradient_tolerance);
    run.compare(name + ".grad.weight_hh_l0", weights.hidden.grad(), gradient_tolerance);
    run.compare(name + ".grad.bias_ih_l0", weights.input_bias.grad(), gradient_tolerance);
    run.compare(name + ".grad.bias_hh_l0", weights.hidden_bias.grad(), gradient_tolerance);
}

void check_additive(const Case& run) {
    const Tensor query_weight = leaf(run, "additive.W_q"), key_weight = leaf(run, "additive.W_k");
    const Tensor w_v = leaf(run, "additive.w_v");
    const auto [output, weights] = ops::additive_attention(ops::linear(run.input("additive.q"), query_weight),
                                                           ops::linear(run.input("additive.k"), key_weight), w_v,
                                                           run.input("additive.v"), run.input("additive.lengths"));
    run.compare("additive.output", output, forward_tolerance);
    run.compare("additive.weights", weights, forward_tolerance);
    backward_evenly(output);
    run.compare("additive.grad.W_q", query_weight.grad(), gradient_tolerance);
    run.compare("additive.grad.W_k", key_weight.grad(), gradient_tolerance);
    run.compare("additive.grad.w_v", w_v.grad(), gradient_tolerance);
}

}  // namespace

void check_recurrent(const Case& run) {
    check_layer(run, "rnn", [](const Tensor& x, const ops::RecurrentWeights& w) { return ops::rnn(x, w); });
    check_layer(run, "gru", [](const Tensor& x, const ops::RecurrentWeights& w) { return ops::gru(x, w); });
    check_layer(run, "lstm", [](const Tensor& x, const ops::RecurrentWeights& w) { return ops::lstm(x, w); });
    check_additive(run);
}

}  // namespace tessera::parity
