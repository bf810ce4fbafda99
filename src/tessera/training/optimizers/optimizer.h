// The base of all optimizers: a parameter buffer, a count of steps, and an f32 master copy where the parameters are in
// a 16-bit format, because updates smaller than half a unit of such a format would otherwise be lost.
#pragma once

#include <functional>
#include <string>

#include "tessera/training/optimizers/parameter_buffer.h"

namespace tessera::training {

class Optimizer {
   public:
    virtual ~Optimizer() = default;
    Optimizer(const Optimizer&) = delete;
    Optimizer& operator=(const Optimizer&) = delete;

    // One step down the gradients now in the buffer, which stay as they are.
    void step(double learning_rate);
    std::int64_t steps() const { return steps_.data<std::int64_t>()[0]; }

    // Every tensor of the state, "master.NAME", "first_moment.NAME" and so on, and "steps": what a checkpoint holds.
    // They share the optimizer's storage, so that copying into them restores it.
    using StateVisitor = std::function<void(const std::string& name, const Tensor& state)>;
    void visit_state(const StateVisitor& visit) const;

   protected:
    explicit Optimizer(const ParameterBuffer& parameters);

    virtual void update(double learning_rate) = 0;  // steps() is already this step's number, from 1
    virtual void visit_moments(const StateVisitor& visit) const = 0;

    Tensor zero_state() const;  // as long as the buffer, in the gradients' dtype
    void visit_flat(const std::string& label, const Tensor& flat, const StateVisitor& visit) const;
    const Tensor& master() const { return master_; }  // what steps write to: the copy, or the parameters themselves
    Tensor rounded() const;                           // the 16-bit parameters beside a master copy; else undefined

    // Calls body(first, count, decays) for the two runs of the flat buffers that share a weight decay.
    void over_decay_groups(const std::function<void(std::int64_t first, std::int64_t count, bool decays)>& body) const;

    const ParameterBuffer& parameters_;

   private:
    Tensor master_;
    Tensor steps_;
};

// `count` elements of a flat tensor; undefined stays undefined.
View flat_piece(const Tensor& flat, std::int64_t first, std::int64_t count);

}  // namespace tessera::training
