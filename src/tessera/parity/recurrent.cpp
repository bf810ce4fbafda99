// Recurrent layers and additive attention on their own: outputs, and gradients of a loss that weighs the outputs evenly
// from −1 to 1.
#include "tessera/ops/recurrent.h"

#include "tessera/ops/additive_attention.h"
#include "tessera/ops/binary.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/views.h"
#include "tessera/parity/comparison.h"
#include "tessera/tensor/tape.h"

namespace tessera::parity {
namespace {

void backward_evenly(const Tensor& output) {
    const std::int64_t count = output.elements();
    check(count > 1, "a case of ", count, " outputs cannot weigh them evenly");
    const Tensor slope =
        ops::shift(ops::scale(Tensor::arange(count, DType::F32), 2.0 / static_cast<double>(count - 1)), -1);
    backward({output}, {ops::reshape(slope.to(output.device()), output.shape())});
}

Tensor leaf(const Case& run, const std::string& name, Sizes sizes) {
    return run.input(name, Values::Floats, sizes).clone().set_requires_grad();
}

// How each layer's gates lie over one another in the rows of its weights.
constexpr std::int64_t gates_of_rnn = 1, gates_of_gru = 3, gates_of_lstm = 4;

using Layer = ops::RecurrentResult (*)(const Tensor&, const ops::RecurrentWeights&);

void check_layer(const Case& run, const std::string& name, std::int64_t gates, Layer layer) {
    const Tensor x = run.input("x", Values::Floats, {any, any, any});
    const std::int64_t width = run.tensor(name + ".weight_hh_l0", Values::Floats, {any, any}).size(1),
                       rows = gates * width;
    const ops::RecurrentWeights weights{
        leaf(run, name + ".weight_ih_l0", {rows, x.size(2)}), leaf(run, name + ".weight_hh_l0", {rows, width}),
        leaf(run, name + ".bias_ih_l0", {rows}), leaf(run, name + ".bias_hh_l0", {rows})};
    const Tensor output = layer(x, weights).output;
    run.compare(name + ".output", output, forward_tolerance);
    backward_evenly(output);
    run.compare(name + ".grad.weight_ih_l0", weights.input.grad(), gradient_tolerance);
    run.compare(name + ".grad.weight_hh_l0", weights.hidden.grad(), gradient_tolerance);
    run.compare(name + ".grad.bias_ih_l0", weights.input_bias.grad(), gradient_tolerance);
    run.compare(name + ".grad.bias_hh_l0", weights.hidden_bias.grad(), gradient_tolerance);
}

void check_additive(const Case& run) {
    const Tensor q = run.input("additive.q", Values::Floats, {any, any, any});
    const Tensor k = run.input("additive.k", Values::Floats, {q.size(0), any, any});
    const Tensor v = run.input("additive.v", Values::Floats, {q.size(0), k.size(1), any});
    const Tensor w_v = leaf(run, "additive.w_v", {any});
    const Tensor query_weight = leaf(run, "additive.W_q", {w_v.size(0), q.size(2)});
    const Tensor key_weight = leaf(run, "additive.W_k", {w_v.size(0), k.size(2)});
    const Tensor lengths = run.input("additive.lengths", Values::Integers, {q.size(0)});
    const auto [output, weights] =
        ops::additive_attention(ops::linear(q, query_weight), ops::linear(k, key_weight), w_v, v, lengths);
    run.compare("additive.output", output, forward_tolerance);
    run.compare("additive.weights", weights, forward_tolerance);
    backward_evenly(output);
    run.compare("additive.grad.W_q", query_weight.grad(), gradient_tolerance);
    run.compare("additive.grad.W_k", key_weight.grad(), gradient_tolerance);
    run.compare("additive.grad.w_v", w_v.grad(), gradient_tolerance);
}

}  // namespace

void check_recurrent(const Case& run) {
    check_layer(run, "rnn", gates_of_rnn,
                [](const Tensor& x, const ops::RecurrentWeights& w) { return ops::rnn(x, w); });
    check_layer(run, "gru", gates_of_gru,
                [](const Tensor& x, const ops::RecurrentWeights& w) { return ops::gru(x, w); });
    check_layer(run, "lstm", gates_of_lstm,
                [](const Tensor& x, const ops::RecurrentWeights& w) { return ops::lstm(x, w); });
    check_additive(run);
}

}  // namespace tessera::parity
