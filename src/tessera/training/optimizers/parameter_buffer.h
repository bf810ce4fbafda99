// All trained parameters in one flat storage, and their gradients in another, so that clipping, zeroing and the
// optimizer's step are each one kernel over one run of memory:
//
//     values     | matrices, which decay …        | vectors, which do not … |
//     gradients  | the same offsets, f32 (f64 where the parameters are)      |
//
// Each piece starts on a 64-byte boundary; the padding stays zero.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tessera/nn/module.h"
#include "tessera/tensor/tensor.h"

namespace tessera::training {

struct Parameter {
    std::string name;
    Tensor& tensor;
};

// Whether weight decay applies to a parameter.
using Decays = std::function<bool(const Parameter&)>;
bool is_matrix(const Parameter& parameter);  // rank two or more, embeddings included: the usual rule

// What gradients of this norm are multiplied by to have max_norm, as in torch's clip_grad_norm_.
constexpr double clipping_factor(double norm, double max_norm) { return max_norm / (norm + 1e-6); }

class ParameterBuffer {
   public:
    struct Segment {
        std::string name;
        Shape shape;
        std::int64_t offset;  // in elements, in both buffers
        bool decays;

        Tensor of(const Tensor& flat) const;  // this parameter's piece of a flat buffer
    };

    // Moves every parameter that requires a gradient into the buffer: its tensor becomes a view there, and collects its
    // gradient in the gradient buffer. Frozen ones stay where they are. A tensor named twice (tied) is stored once;
    // both become the same view. Other copies of a tensor keep its old storage.
    explicit ParameterBuffer(const std::vector<Parameter>& parameters, const Decays& decays = is_matrix);
    explicit ParameterBuffer(nn::Module& module, const Decays& decays = is_matrix);  // all of its parameters
    ParameterBuffer(const ParameterBuffer&) = delete;
    ParameterBuffer& operator=(const ParameterBuffer&) = delete;

    const Tensor& values() const { return values_; }
    const Tensor& gradients() const { return gradients_; }
    const std::vector<Segment>& segments() const { return segments_; }
    std::int64_t elements() const { return values_.elements(); }         // padding included
    std::int64_t decayed_elements() const { return decayed_elements_; }  // the first so many decay, the others do not

    void zero_gradients() const { gradients_.fill(0); }
    double gradient_norm() const;  // over all parameters together
    // Scales the gradients to a norm of at most max_norm and returns the norm they had. Gradients with an infinity or a
    // NaN among them are left as they are: the norm says so.
    double clip_gradients(double max_norm) const;
    void scale_gradients(double factor) const;

   private:
    Tensor values_, gradients_;
    std::vector<Segment> segments_;
    std::int64_t decayed_elements_ = 0;
};

}  // namespace tessera::training
