#include "tessera/nn/lora.h"

#include <cmath>

#include "tessera/ops/binary.h"
#include "tessera/ops/cast.h"
#include "tessera/ops/compute_dtype.h"
#include "tessera/ops/linear.h"
#include "tessera/ops/matmul.h"
#include "tessera/ops/random.h"
#include "tessera/tensor/tape.h"

namespace tessera::nn {

Lora::Lora(const Linear& base, const LoraSettings& settings, RandomKey key) {
    const std::int64_t in = base.in_width(), out = base.out_width(), rank = settings.rank;
    check(rank >= 1 && rank <= std::min(in, out), "lora: rank ", rank, " does not fit a weight of shape ",
          base.weight.shape());
    const DType dtype = ops::compute_dtype(base.weight.dtype());
    const double bound = 1 / std::sqrt(static_cast<double>(in));  // as nn.Linear starts
    down = ops::uniform({rank, in}, -bound, bound, key, dtype).to(base.weight.device());
    up = Tensor::zeros({out, rank}, dtype, base.weight.device());
    factor = settings.alpha / static_cast<double>(rank);
    dropout = settings.dropout;
    down.set_requires_grad();
    up.set_requires_grad();
}

Tensor Lora::forward(const Tensor& x, const Context& context) const {
    constexpr std::uint64_t of_adapters = 1u << 24;  // past what other parts take of a block's key
    const Tensor kept = drop(x, dropout, context, of_adapters + number);
    const Tensor input = kept.dtype() == down.dtype() ? kept : ops::cast(kept, down.dtype());
    const Tensor change = ops::scale(ops::linear(ops::linear(input, down, {}), up, {}), factor);
    return x.dtype() == change.dtype() ? change : ops::cast(change, x.dtype());
}

Tensor Lora::weight_change() const {
    const NoGrad no_grad;
    return ops::scale(ops::matmul(up, down), factor);
}

void Lora::visit(const Visitor& visitor) {
    visitor("lora_A.weight", down);
    visitor("lora_B.weight", up);
}

namespace {

bool is_target(const std::string& name, const std::vector<std::string>& targets) {
    if (targets.empty()) return true;
    for (const std::string& target : targets)
        if (name == target || name.ends_with("." + target)) return true;
    return false;
}

// The sum in the adapter's dtype, rounded once to the weight's.
Tensor changed(const Tensor& weight, const Tensor& change, double sign) {
    const NoGrad no_grad;
    const Tensor sum = ops::add(weight.detach().to(change.dtype()), sign == 1 ? change : ops::scale(change, sign));
    return is_float(weight.dtype()) ? sum.to(weight.dtype()) : sum;
}

}  // namespace

void for_each_linear(Module& module, const std::function<void(const std::string&, Linear&)>& action) {
    module.visit(Visitor({}, [&](const std::string& name, Module& child) {
        if (auto* linear = dynamic_cast<Linear*>(&child)) action(name, *linear);
    }));
}

std::vector<std::string> attach_lora(Module& module, const std::vector<std::string>& targets,
                                     const LoraSettings& settings) {
    set_requires_grad(module, false);
    std::vector<std::string> wrapped;
    std::string seen;
    for_each_linear(module, [&](const std::string& name, Linear& linear) {
        seen += (seen.empty() ? "" : ", ") + name;
        if (!is_target(name, targets)) return;
        auto adapter = std::make_unique<Lora>(linear, settings, settings.key.child(wrapped.size()));
        adapter->number = wrapped.size();
        linear.adapter = std::move(adapter);
        wrapped.push_back(name);
    });
    check(!wrapped.empty(), "lora: no linear layer matches the targets; there are: ", seen);
    return wrapped;
}

void add_adapter_to_weight(Linear& linear) {
    if (linear.adapter) linear.weight = changed(linear.weight, linear.adapter->weight_change(), 1);
}

void subtract_adapter_from_weight(Linear& linear) {
    if (linear.adapter) linear.weight = changed(linear.weight, linear.adapter->weight_change(), -1);
}

void merge_lora(Module& module) {
    for_each_linear(module, [](const std::string&, Linear& linear) {
        add_adapter_to_weight(linear);
        linear.adapter.reset();
    });
}

}  // namespace tessera::nn
