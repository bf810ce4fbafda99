#include "tessera/training/optimizers/parameter_groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tessera/core/error.h"
#include "tessera/models/parameter_names.h"

namespace tessera::training {
namespace {

std::unique_ptr<Optimizer> make_optimizer(const ParameterBuffer& buffer, const Recipe& recipe) {
    switch (recipe.optimizer) {
        case OptimizerKind::AdamW: return std::make_unique<AdamW>(buffer, recipe.adamw);
        case OptimizerKind::Adafactor: return std::make_unique<Adafactor>(buffer, recipe.adafactor);
        default: return std::make_unique<Sgd>(buffer, recipe.sgd);
    }
}

// Names of parameters that a recipe says, and which of them were met, so that one that met nothing can be named.
class SaidNames {
   public:
    SaidNames(nn::Module& module, const models::WeightTable& table, const Recipe& recipe)
        : module_(module), table_(table), recipe_(recipe) {}

    bool meets(const std::string& said, const std::string& parameter) {
        const bool met = models::has_name_part(table_, parameter, said);
        if (met) met_.insert(said);
        return met;
    }
    void check_met(const char* field, const std::string& said) const {
        if (!met_.contains(said))
            recipe_.resolved.reject(field, text_of("no parameter is called \"", said,
                                                   "\"; there are: ", models::kinds_of_parameters(module_, table_)));
    }

   private:
    nn::Module& module_;
    const models::WeightTable& table_;
    const Recipe& recipe_;
    std::set<std::string> met_;
};

std::int64_t phase_of(const std::string& name, const std::vector<std::vector<std::string>>& phases) {
    for (std::size_t phase = 0; phase < phases.size(); ++phase)
        for (const std::string& part : phases[phase])
            if (name.find(part) != name.npos) return static_cast<std::int64_t>(phase);
    return -1;
}

}  // namespace

ParameterGroups::ParameterGroups(nn::Module& module, const models::WeightTable& table, const Recipe& recipe,
                                 const std::vector<std::vector<std::string>>& phases) {
    SaidNames said(module, table, recipe);
    using Key = std::pair<std::int64_t, double>;  // phase and factor
    std::map<Key, std::vector<Parameter>, std::greater<>> by_key;
    for (const auto& [name, tensor] : nn::parameters(module)) {
        bool frozen = false;
        for (const std::string& part : recipe.freeze) frozen = said.meets(part, name) || frozen;
        if (frozen) tensor->set_requires_grad(false);
        double factor = 1;
        for (const auto& [part, times] : recipe.rates)
            if (said.meets(part, name)) factor = times;
        if (tensor->requires_grad()) by_key[{phase_of(name, phases), factor}].push_back({name, *tensor});
    }
    for (const std::string& part : recipe.freeze) said.check_met("freeze", part);
    for (const auto& [part, times] : recipe.rates) said.check_met("rates", part);
    if (by_key.empty() && recipe.freeze.empty())
        recipe.resolved.reject("optimizer.name", "nothing of this model learns by gradients; n-grams learn by count");
    check(!by_key.empty(), recipe.resolved.source(), ": freeze: no parameter is left to learn");
    for (const auto& [key, parameters] : by_key) {
        auto buffer = std::make_unique<ParameterBuffer>(parameters);
        auto optimizer = make_optimizer(*buffer, recipe);
        groups_.push_back({key.first, key.second, std::move(buffer), std::move(optimizer)});
    }
}

void ParameterGroups::zero_gradients() const {
    for (const Group& group : groups_) group.buffer->zero_gradients();
}

double ParameterGroups::clip_gradients(double max_norm) const {
    double squares = 0;
    for (const Group& group : groups_) squares += std::pow(group.buffer->gradient_norm(), 2);
    const double norm = std::sqrt(squares);
    if (max_norm > 0 && std::isfinite(norm) && clipping_factor(norm, max_norm) < 1)
        for (const Group& group : groups_) group.buffer->scale_gradients(clipping_factor(norm, max_norm));
    return norm;
}

void ParameterGroups::step(double learning_rate, std::int64_t phase) const {
    for (const Group& group : groups_)
        if (group.phase < 0 || group.phase == phase) group.optimizer->step(learning_rate * group.factor);
}

std::int64_t ParameterGroups::elements() const {
    std::int64_t elements = 0;
    for (const Group& group : groups_)
        for (const auto& segment : group.buffer->segments()) elements += segment.shape.elements();
    return elements;
}

void ParameterGroups::visit_state(const Optimizer::StateVisitor& visit) const {
    for (std::size_t i = 0; i < groups_.size(); ++i)
        groups_[i].optimizer->visit_state(
            [&](const std::string& name, const Tensor& state) { visit(text_of("group", i, ".", name), state); });
}

void ParameterGroups::visit_values(const std::function<void(const Tensor& flat)>& visit) const {
    for (const Group& group : groups_) visit(group.buffer->values());
}

}  // namespace tessera::training
