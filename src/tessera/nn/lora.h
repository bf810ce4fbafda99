// LoRA (Hu et al. 2021): a frozen linear layer learns a change of low rank, W + (alpha / rank) · B A. B starts at zero,
// so the adapted model starts as the model.
#pragma once

#include <string>
#include <vector>

#include "tessera/nn/linear.h"

namespace tessera::nn {

struct LoraSettings {
    std::int64_t rank = 16;
    double alpha = 32;
    double dropout = 0;  // of what the adapter sees, in training
    RandomKey key = {};
};

class Lora : public LinearAdapter {
   public:
    Lora(const Linear& base, const LoraSettings& settings, RandomKey key);
    Lora(Tensor down, Tensor up, double factor) : down(std::move(down)), up(std::move(up)), factor(factor) {}

    Tensor forward(const Tensor& x, const Context& context) const override;
    Tensor weight_change() const override;
    void visit(const Visitor& visitor) override;

    // In f32, or f64 where the weight is, whatever the weight's dtype.
    Tensor down;  // A (rank, in)
    Tensor up;    // B (out, rank)
    double factor;
    double dropout = 0;
    std::uint64_t number = 0;  // adapters of one number drop the same elements
};

// Wraps every linear layer whose name ends in one of `targets` ("query", "feed_forward.up"; empty: all of them),
// freezes everything else, and returns the names of the wrapped layers. No match at all is an error that lists the
// layers.
std::vector<std::string> attach_lora(Module& module, const std::vector<std::string>& targets,
                                     const LoraSettings& settings);
// Every linear layer of a module with its name.
void for_each_linear(Module& module, const std::function<void(const std::string& name, Linear& linear)>& action);
// Adds every adapter's change to its weight and removes the adapter. A quantised weight becomes f32.
void merge_lora(Module& module);

// The same for one layer, adapter kept: merge, and take the change out again.
void add_adapter_to_weight(Linear& linear);
void subtract_adapter_from_weight(Linear& linear);

}  // namespace tessera::nn
