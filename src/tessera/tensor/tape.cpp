#include "tessera/tensor/tape.h"

#include <atomic>
#include <map>
#include <queue>
#include <utility>

#include "tessera/kernels/memory.h"

namespace tessera {

struct OutputFacts {
    Shape shape;
    DType dtype;
    Device device;
};

struct Node {
    const char* op;
    std::int64_t sequence;  // creation order: a node's inputs always have smaller numbers
    std::vector<std::shared_ptr<GradientState>> inputs;
    std::vector<Shape> input_shapes;
    std::vector<OutputFacts> outputs;
    BackwardMany backward;

    Node();
    ~Node();
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
};

namespace {

std::atomic<std::int64_t> nodes_alive{0};
std::atomic<std::int64_t> next_sequence{0};
thread_local bool is_recording = true;

}  // namespace

Node::Node() : sequence(next_sequence++) { ++nodes_alive; }

// A chain of a million steps must not recurse a million destructors deep: take the chain apart link by link.
Node::~Node() {
    std::vector<std::shared_ptr<GradientState>> remaining = std::move(inputs);
    backward = nullptr;
    while (!remaining.empty()) {
        const std::shared_ptr<GradientState> state = std::move(remaining.back());
        remaining.pop_back();
        if (!state || state.use_count() > 1 || !state->producer || state->producer.use_count() > 1) continue;
        Node& producer = *state->producer;
        producer.backward = nullptr;
        for (auto& input : producer.inputs) remaining.push_back(std::move(input));
        producer.inputs.clear();
    }
    --nodes_alive;
}

bool recording() { return is_recording; }
NoGrad::NoGrad() : previous_(std::exchange(is_recording, false)) {}
NoGrad::~NoGrad() { is_recording = previous_; }
std::int64_t live_nodes() { return nodes_alive; }

namespace {

std::vector<Tensor> put_on_tape(const char* op, std::vector<Tensor> outputs, const std::vector<Tensor>& inputs,
                                BackwardMany backward) {
    const auto node = std::make_shared<Node>();
    node->op = op;
    node->backward = std::move(backward);
    for (const Tensor& input : inputs) {
        node->inputs.push_back(input.gradient_state());
        node->input_shapes.push_back(input.shape());
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        node->outputs.push_back({outputs[i].shape(), outputs[i].dtype(), outputs[i].device()});
        if (!is_float(outputs[i].dtype())) continue;  // indices beside the values have no gradient
        auto state = std::make_shared<GradientState>();
        state->producer = node;
        state->output_index = static_cast<int>(i);
        outputs[i].set_gradient_state(std::move(state));
    }
    return outputs;
}

}  // namespace

bool is_recorded(std::span<const Tensor> inputs) {
    if (!is_recording) return false;
    for (const Tensor& input : inputs)
        if (input.requires_grad()) return true;
    return false;
}

std::vector<Tensor> record(const char* op, std::vector<Tensor> outputs, const std::vector<Tensor>& inputs,
                           BackwardMany backward) {
    if (!is_recorded(inputs)) return outputs;
    return put_on_tape(op, std::move(outputs), inputs, std::move(backward));
}

Tensor record(const char* op, Tensor output, const std::vector<Tensor>& inputs, Backward backward) {
    if (!is_recorded(inputs)) return output;
    return put_on_tape(op, {std::move(output)}, inputs, [backward = std::move(backward)](const Gradients& gradients) {
        return backward(gradients[0]);
    })[0];
}

Tensor record_without_gradient(const char* op, Tensor output, std::initializer_list<Tensor> inputs) {
    return record(op, std::move(output), inputs, [op](const Tensor&) -> Gradients { fail(op, ": has no gradient"); });
}

namespace {

// A gradient on its way: `owned` once it is a sum that nobody else can see, so that more may be added in place.
struct Pending {
    Tensor gradient;
    bool owned = false;

    void add(const Tensor& more) {
        if (!gradient.defined()) {
            gradient = more;
            return;
        }
        if (!owned) gradient = gradient.clone();
        owned = true;
        kernels::accumulate.on(gradient.device())(more.view(), gradient.view());
    }
};

void add_to_leaf(GradientState& leaf, const Tensor& gradient) {
    if (leaf.grad.defined()) {
        kernels::accumulate.on(leaf.grad.device())(gradient.view(), leaf.grad.view());
        return;
    }
    // Taken over only if nobody else holds it: the gradients of a + b share one storage, and so may the caller's.
    const bool only_owner = gradient.storage().use_count() == 1 && gradient.is_contiguous();
    leaf.grad = only_owner ? gradient.detach() : gradient.clone();
}

class BackwardPass {
   public:
    void seed(const Tensor& output, Tensor gradient) {
        check(output.requires_grad(), "backward: the tensor does not depend on anything that requires a gradient");
        check(gradient.shape() == output.shape(), "backward: gradient of shape ", gradient.shape(),
              " for an output of ", output.shape());
        send(output.gradient_state(), std::move(gradient));
    }

    void run() {
        while (!ready_.empty()) {
            const auto last = std::prev(ready_.end());
            const std::shared_ptr<Node> node = std::move(last->second.node);
            std::vector<Pending> pending = std::move(last->second.pending);
            ready_.erase(last);
            run_node(*node, std::move(pending));
        }
    }

   private:
    struct Waiting {
        std::shared_ptr<Node> node;
        std::vector<Pending> pending;  // one per output
    };

    void send(const std::shared_ptr<GradientState>& state, Tensor gradient) {
        if (!state->producer) return add_to_leaf(*state, gradient);
        Waiting& waiting = ready_[state->producer->sequence];
        if (!waiting.node) {
            waiting.node = state->producer;
            waiting.pending.resize(state->producer->outputs.size());
        }
        waiting.pending[static_cast<std::size_t>(state->output_index)].add(gradient);
    }

    void run_node(Node& node, std::vector<Pending> pending) {
        check(node.backward != nullptr, "backward: ", node.op, " was already gone through; its saved values are freed");
        Gradients output_gradients;
        for (std::size_t i = 0; i < pending.size(); ++i) {
            const OutputFacts& facts = node.outputs[i];
            if (!pending[i].gradient.defined() && is_float(facts.dtype))
                pending[i].gradient = Tensor::zeros(facts.shape, facts.dtype, facts.device);
            output_gradients.push_back(std::move(pending[i].gradient));
        }
        const BackwardMany backward = std::exchange(node.backward, nullptr);
        Gradients input_gradients = backward(output_gradients);
        output_gradients.clear();
        check(input_gradients.size() == node.inputs.size(), node.op, ": backward returned ", input_gradients.size(),
              " gradients for ", node.inputs.size(), " inputs");
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            Tensor gradient = std::move(input_gradients[i]);
            if (!node.inputs[i] || !gradient.defined()) continue;
            check(gradient.shape() == node.input_shapes[i], node.op, ": gradient of shape ", gradient.shape(),
                  " for input ", i, " of shape ", node.input_shapes[i]);
            send(node.inputs[i], std::move(gradient));
        }
        node.inputs.clear();
    }

    std::map<std::int64_t, Waiting> ready_;  // the last recorded runs first: everything that uses it came later
};

}  // namespace

void backward(const std::vector<Tensor>& outputs, const Gradients& output_gradients) {
    check(outputs.size() == output_gradients.size(), "backward: ", output_gradients.size(), " gradients for ",
          outputs.size(), " outputs");
    const NoGrad no_grad;
    BackwardPass pass;
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (output_gradients[i].defined() && outputs[i].requires_grad()) pass.seed(outputs[i], output_gradients[i]);
    pass.run();
}

void backward(const Tensor& loss) {
    check(loss.elements() == 1, "backward: the loss must be one element, not of shape ", loss.shape());
    const NoGrad no_grad;
    BackwardPass pass;
    pass.seed(loss, Tensor::full(loss.shape(), 1.0, loss.dtype(), loss.device()));
    pass.run();
}

const Tensor* gradient_buffer(const Tensor& leaf) {
    const GradientState* state = leaf.gradient_state().get();
    return state && !state->producer && state->grad.defined() ? &state->grad : nullptr;
}

namespace {

Gradients run_again(const Function& function, const std::vector<Tensor>& saved, const std::vector<bool>& wanted,
                    const Gradients& output_gradients) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < saved.size(); ++i) {
        inputs.push_back(saved[i].defined() ? saved[i].detach() : Tensor());
        if (wanted[i]) inputs[i].set_requires_grad();
    }
    const bool previous = std::exchange(is_recording, true);
    std::vector<Tensor> outputs;
    try {
        outputs = function(inputs);
    } catch (...) {
        is_recording = previous;
        throw;
    }
    is_recording = previous;
    backward(outputs, output_gradients);
    Gradients gradients;
    for (std::size_t i = 0; i < inputs.size(); ++i) gradients.push_back(wanted[i] ? inputs[i].grad() : Tensor());
    return gradients;
}

}  // namespace

std::vector<Tensor> recompute(Function function, const std::vector<Tensor>& inputs) {
    if (!is_recording) return function(inputs);
    std::vector<Tensor> outputs, saved;
    std::vector<bool> wanted;
    {
        const NoGrad no_grad;
        outputs = function(inputs);
    }
    for (Tensor& output : outputs) output = output.detach();
    for (const Tensor& input : inputs) {
        saved.push_back(input.defined() ? input.detach() : Tensor());
        wanted.push_back(input.requires_grad());
    }
    // Recorded even if no input requires a gradient: the function's own parameters may.
    return put_on_tape("recompute", std::move(outputs), inputs,
                       [function = std::move(function), saved, wanted](const Gradients& gradients) {
                           return run_again(function, saved, wanted, gradients);
                       });
}

}  // namespace tessera
