// GPT-2 (Radford et al. 2019) written directly on the ops, and one training step of it: forward, backward, AdamW.
// peers/gpt2_torch.py is the same model in PyTorch.
#pragma once

#include <memory>
#include <vector>

#include "tessera/tensor/tensor.h"
#include "tessera/training/optimizers/adamw.h"
#include "tessera/training/optimizers/parameter_buffer.h"

namespace tessera::benchmarks {

struct Gpt2Sizes {
    std::int64_t batch = 4, length = 256;
    std::int64_t layers = 12, width = 768, heads = 12, vocabulary = 50257;

    double operations() const;  // of the matrix products of a step, attention's half square included
};

class Gpt2Step {
   public:
    explicit Gpt2Step(const Gpt2Sizes& sizes);

    struct Parts {
        double forward = 0, backward = 0, optimizer = 0;  // seconds
        double loss = 0;
    };
    Parts run();
    std::int64_t parameters() const { return buffer_->elements(); }

   private:
    struct Linear {
        Tensor weight, bias;
    };
    struct Norm {
        Tensor weight, bias;
    };
    struct Layer {
        Norm attention_norm, feed_forward_norm;
        Linear query_key_value, attention_out, up, down;
    };

    Linear make_linear(std::int64_t in, std::int64_t out);
    Norm make_norm();
    Tensor make_normal(const Shape& shape);
    Tensor attention(const Layer& layer, const Tensor& x) const;  // (B, T, W) → (B, T, W)
    Tensor loss() const;

    Gpt2Sizes sizes_;
    std::uint64_t seed_ = 1;
    Tensor tokens_, positions_;
    std::vector<Layer> layers_;
    Norm norm_;
    Tensor inputs_, targets_;
    std::unique_ptr<training::ParameterBuffer> buffer_;
    std::unique_ptr<training::AdamW> optimizer_;
};

}  // namespace tessera::benchmarks
