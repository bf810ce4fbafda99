// A module owns parameters and other modules, and names them in one place: visit. Loading, saving, optimizers, LoRA,
// moving to a device, counting and printing all go through it. forward is const: what varies from call to call
// (positions, mask, cache, training) is passed down.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/random.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

class Module;

// Walks a tree of modules and gives every parameter (and every module) its dotted name.
class Visitor {
   public:
    using OnTensor = std::function<void(const std::string& name, Tensor& tensor)>;
    using OnModule = std::function<void(const std::string& name, Module& module)>;

    // `on_fixed` is told tensors that are kept with the parameters but never learned; without it they are like others.
    explicit Visitor(OnTensor on_tensor, OnModule on_module = {}, OnTensor on_fixed = {});

    void operator()(const std::string& name,
                    Tensor& tensor) const;  // an undefined tensor (no bias, say) is passed over
    void fixed(const std::string& name, Tensor& tensor) const;
    void operator()(const std::string& name, Module& module) const;
    template <class M>
    void operator()(const std::string& name, const std::unique_ptr<M>& module) const {
        if (module) (*this)(name, static_cast<Module&>(*module));
    }
    template <class M>
    void operator()(const std::string& name, std::vector<M>& modules) const {
        for (std::size_t i = 0; i < modules.size(); ++i) (*this)(name + "." + std::to_string(i), modules[i]);
    }

   private:
    std::string full_name(const std::string& name) const { return prefix_.empty() ? name : prefix_ + "." + name; }

    struct Actions {
        OnTensor on_tensor;
        OnModule on_module;
        OnTensor on_fixed;
    };
    std::shared_ptr<const Actions> actions_;
    std::string prefix_;
};

class Module {
   public:
    virtual ~Module() = default;
    virtual void visit(const Visitor& visitor) = 0;
    // Gives parameters of its own their initial values where the usual ones would be wrong.
    virtual void initialise_own() {}
};

// A module of one input and one output that needs no context: linear, norms, feed-forward.
class Layer : public Module {
   public:
    virtual Tensor forward(const Tensor& x) const = 0;
};

struct NamedTensor {
    std::string name;
    Tensor* tensor;
};
std::vector<NamedTensor> parameters(Module& module);
std::int64_t parameter_count(Module& module);                // a tied tensor counts once
void set_requires_grad(Module& module, bool requires_grad);  // of all but the fixed ones
void move_to(Module& module, Device device);
void convert_to(Module& module, DType dtype);

// Random initial values for every deferred parameter: matrices normal(0, deviation), vectors named "bias…" 0, other
// vectors 1, and whatever a module says of its own. Each parameter's numbers depend on the key and its name alone.
// `on_parameter` is told of each when it is done.
struct InitStd {
    double usual = 0.02;
    struct Other {
        std::string beginning, ending;  // of a parameter's name
        double value;
    };
    std::vector<Other> others = {};

    double of(const std::string& name) const;
};
void initialise(Module& module, RandomKey key, const InitStd& deviation = {},
                const std::function<void(const Tensor& parameter)>& on_parameter = {});

}  // namespace tessera::nn
