// LayerNorm (Ba et al. 2016) and RMSNorm (Zhang & Sennrich 2019).
#pragma once

#include "tessera/nn/module.h"
#include "tessera/ops/norm.h"

namespace tessera::nn {

class Norm : public Layer {
   public:
    // The norm of x + residual and the sum itself, in one pass over memory.
    virtual ops::AddNorm add_forward(const Tensor& x, const Tensor& residual) const = 0;
};

class LayerNorm : public Norm {
   public:
    explicit LayerNorm(std::int64_t width, double eps = 1e-5, bool has_bias = true);
    Tensor forward(const Tensor& x) const override;
    ops::AddNorm add_forward(const Tensor& x, const Tensor& residual) const override;
    void visit(const Visitor& visitor) override;

    Tensor weight, bias;
    double eps;
};

enum class NormWeight { Plain, OnePlus };  // y · w, or y · (1 + w): weights stored around zero

class RmsNorm : public Norm {
   public:
    explicit RmsNorm(std::int64_t width, double eps = 1e-6, NormWeight meaning = NormWeight::Plain);
    Tensor forward(const Tensor& x) const override;
    ops::AddNorm add_forward(const Tensor& x, const Tensor& residual) const override;
    void visit(const Visitor& visitor) override;
    void initialise_own() override;  // either way the factor starts at 1

    Tensor weight;
    double eps;
    NormWeight meaning;

   private:
    ops::RmsNormOptions options() const;
};

}  // namespace tessera::nn
