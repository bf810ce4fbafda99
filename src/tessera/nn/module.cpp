#include "tessera/nn/module.h"

#include <set>

#include "tessera/ops/cast.h"
#include "tessera/ops/random.h"

namespace tessera::nn {

Visitor::Visitor(OnTensor on_tensor, OnModule on_module, OnTensor on_fixed)
    : actions_(
          std::make_shared<const Actions>(Actions{std::move(on_tensor), std::move(on_module), std::move(on_fixed)})) {}

void Visitor::operator()(const std::string& name, Tensor& tensor) const {
    if (tensor.defined() && actions_->on_tensor) actions_->on_tensor(full_name(name), tensor);
}

void Visitor::fixed(const std::string& name, Tensor& tensor) const {
    if (!actions_->on_fixed) return (*this)(name, tensor);
    if (tensor.defined()) actions_->on_fixed(full_name(name), tensor);
}

void Visitor::operator()(const std::string& name, Module& module) const {
    Visitor inside = *this;
    inside.prefix_ = full_name(name);
    if (actions_->on_module) actions_->on_module(inside.prefix_, module);
    module.visit(inside);
}

std::vector<NamedTensor> parameters(Module& module) {
    std::vector<NamedTensor> found;
    module.visit(Visitor([&](const std::string& name, Tensor& tensor) { found.push_back({name, &tensor}); }));
    return found;
}

std::int64_t parameter_count(Module& module) {
    std::int64_t count = 0;
    std::set<std::pair<const Storage*, std::int64_t>> seen;  // many parameters may lie in one buffer
    for (const auto& [name, tensor] : parameters(module))
        if (seen.insert({tensor->storage().get(), tensor->offset()}).second) count += tensor->elements();
    return count;
}

void set_requires_grad(Module& module, bool requires_grad) {
    const auto set = [&](const std::string&, Tensor& tensor) { tensor.set_requires_grad(requires_grad); };
    module.visit(Visitor(set, {}, [](const std::string&, Tensor&) {}));
}

void move_to(Module& module, Device device) {
    for (const auto& [name, tensor] : parameters(module)) *tensor = tensor->detach().to(device);
}

void convert_to(Module& module, DType dtype) {
    for (const auto& [name, tensor] : parameters(module))
        if (!is_integer(tensor->dtype())) *tensor = tensor->detach().to(dtype);
}

namespace {

std::uint64_t hash_of(const std::string& text) {  // FNV-1a: the same on every machine, unlike std::hash
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
}

// "feed_forward.up.bias", and recurrent layers' "bias_ih_l0".
bool is_bias(const std::string& name) { return name.substr(name.rfind('.') + 1).starts_with("bias"); }

}  // namespace

double InitStd::of(const std::string& name) const {
    for (const Other& other : others)
        if (name.starts_with(other.beginning) && name.ends_with(other.ending)) return other.value;
    return usual;
}

void initialise(Module& module, RandomKey key, const InitStd& deviation,
                const std::function<void(const Tensor& parameter)>& on_parameter) {
    module.visit(Visitor({}, [](const std::string&, Module& inside) { inside.initialise_own(); }));
    for (const auto& [name, tensor] : parameters(module)) {
        if (!tensor->is_deferred()) continue;
        const Shape shape = tensor->shape();
        if (shape.rank() >= 2)
            *tensor = ops::normal(shape, 0, deviation.of(name), key.child(hash_of(name)), tensor->dtype())
                          .to(tensor->device());
        else
            *tensor = Tensor::full(shape, is_bias(name) ? 0 : 1, tensor->dtype(), tensor->device());
        if (on_parameter) on_parameter(*tensor);
    }
}

}  // namespace tessera::nn
