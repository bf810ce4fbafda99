// The tape: while recording, every op leaves a node that knows its inputs and how to turn the gradient of its outputs
// into gradients of its inputs. What a backward closure captures is what is saved for it; backward drops each closure
// as soon as it has run, so memory falls while gradients flow.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tessera/tensor/tensor.h"

namespace tessera {

using Gradients = std::vector<Tensor>;  // one per input; undefined where there is none

struct Node;

// A tensor's place on the tape: a leaf collects `grad`; any other tensor was produced by a node.
struct GradientState {
    Tensor grad;
    std::shared_ptr<Node> producer;
    int output_index = 0;
};

bool recording();  // true unless under NoGrad

class NoGrad {
   public:
    NoGrad();
    ~NoGrad();
    NoGrad(const NoGrad&) = delete;
    NoGrad& operator=(const NoGrad&) = delete;

   private:
    bool previous_;
};

// Puts an op on the tape and returns its output(s), now requiring a gradient, if any input requires one and the tape is
// recording; otherwise drops the closure. The closure runs under NoGrad. It must capture its own output, if it needs
// it, as output.detach(): the output's node owns the closure, and a cycle would never be freed.
// Where nothing is recorded nothing is allocated: a closure becomes a function object only on the tape.
using Backward = std::function<Gradients(const Tensor& output_gradient)>;
using BackwardMany = std::function<Gradients(const Gradients& output_gradients)>;  // zeros where an output was not used
Tensor record(const char* op, Tensor output, const std::vector<Tensor>& inputs, Backward backward);
std::vector<Tensor> record(const char* op, std::vector<Tensor> outputs, const std::vector<Tensor>& inputs,
                           BackwardMany backward);
bool is_recorded(std::span<const Tensor> inputs);  // recording, and one of them requires a gradient
template <class Closure>
Tensor record(const char* op, Tensor output, std::initializer_list<Tensor> inputs, Closure&& backward) {
    if (!is_recorded({inputs.begin(), inputs.size()})) return output;
    return record(op, std::move(output), std::vector<Tensor>(inputs), Backward(std::forward<Closure>(backward)));
}
// For an op without a gradient: asking for one throws, naming the op, instead of silently training nothing.
Tensor record_without_gradient(const char* op, Tensor output, std::initializer_list<Tensor> inputs);

// Adds d loss / d leaf to the gradient of every leaf that `loss` (one element) depends on.
void backward(const Tensor& loss);
void backward(const std::vector<Tensor>& outputs, const Gradients& output_gradients);

// The buffer in which a leaf already collects its gradient; null where there is none, or the tensor is no leaf. A
// backward closure that can add into it for nothing (a matrix product that accumulates) may do so and return no
// gradient.
const Tensor* gradient_buffer(const Tensor& leaf);

std::int64_t live_nodes();  // how many recorded ops exist now

// Activation checkpointing: runs `function` without recording, keeps only its inputs, and runs it again in backward.
// Parameters that the function captures get their gradients too. The function must compute the same each time.
using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
std::vector<Tensor> recompute(Function function, const std::vector<Tensor>& inputs);

}  // namespace tessera
