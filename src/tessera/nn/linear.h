// y = x Wᵀ + b, and what may be added to it by an adapter (nn/lora.h).
#pragma once

#include <optional>
#include <span>

#include "tessera/nn/context.h"
#include "tessera/nn/module.h"

namespace tessera::nn {

// Something learned beside a frozen linear layer: its output is added to the layer's.
class LinearAdapter : public Module {
   public:
    virtual Tensor forward(const Tensor& x, const Context& context) const = 0;
    virtual Tensor weight_change() const = 0;  // (out, in): what merging adds to the weight
};

class Linear : public Layer {
   public:
    Linear() = default;
    Linear(std::int64_t in, std::int64_t out, bool has_bias = true, DType dtype = DType::F32);

    Tensor forward(const Tensor& x) const override { return forward(x, {}); }
    // An adapter may drop some of x in training. The result has x's dtype, or the one given.
    Tensor forward(const Tensor& x, const Context& context, std::optional<DType> result = {}) const;
    // The dtype of x's products: in training with bf16, what goes from this layer into other products may be bf16 too.
    DType matmul_input_dtype(const Tensor& x) const;
    void visit(const Visitor& visitor) override;

    std::int64_t in_width() const { return weight.size(1); }
    std::int64_t out_width() const { return weight.size(0); }

    // y is what the weight made of x.
    Tensor with_adapter(const Tensor& y, const Tensor& x, const Context& context) const;

    Tensor weight;  // (out, in)
    Tensor bias;    // (out) or undefined
    std::unique_ptr<LinearAdapter> adapter;
};

// What several layers make of one x, into `out`: one op on the tape where all take it in the same dtype.
void forward_many(std::span<const Linear* const> layers, const Tensor& x, const Context& context,
                  std::optional<DType> result, std::span<Tensor> out);

}  // namespace tessera::nn
