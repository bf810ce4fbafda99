#include "tessera/training/objectives/registration.h"

#include <algorithm>
#include <map>

#include "tessera/core/error.h"

namespace tessera::training {
namespace {

std::map<std::string, ObjectiveTraits>& registry() {
    static std::map<std::string, ObjectiveTraits> objectives;
    return objectives;
}

// "masked", or "denoise, pairs, span"; empty where the model learns by none.
std::string objectives_for(const models::Model& model) {
    std::string names;
    for (const auto& [name, traits] : registry())
        if (model.can(traits.needs)) names += text_of(names.empty() ? "" : ", ", name);
    return names;
}

bool gets_new_head(const models::Model& model, const ObjectiveTraits& traits) {
    return !traits.under_new_head.empty() && model.capabilities.has_all(traits.under_new_head);
}

template <class Predicate>
const ObjectiveTraits* first_of(const Predicate& predicate) {
    for (const auto& [name, traits] : registry())
        if (predicate(traits)) return &traits;
    return nullptr;
}

}  // namespace

bool ObjectiveTraits::has(Metric metric) const {
    return std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
}

RegisterObjective::RegisterObjective(const ObjectiveTraits& traits) { registry().emplace(traits.name, traits); }

const ObjectiveTraits* find_objective(const std::string& name) {
    const auto found = registry().find(name);
    return found == registry().end() ? nullptr : &found->second;
}

const ObjectiveTraits& objective_of(const Recipe& recipe) {
    if (const ObjectiveTraits* found = find_objective(recipe.objective)) return *found;
    std::string known;
    for (const auto& [name, traits] : registry()) known += text_of(known.empty() ? "" : ", ", name);
    recipe.resolved.reject("objective", text_of("expected one of ", known, ", found \"", recipe.objective, "\""));
}

const ObjectiveTraits* default_objective(const models::Model& model, const std::vector<std::string>& files) {
    const auto suits = [&](const ObjectiveTraits& traits) {
        return model.can(traits.needs) || gets_new_head(model, traits);
    };
    if (const auto* by_data = first_of([&](const ObjectiveTraits& traits) {
            return traits.recognises && !files.empty() && suits(traits) && traits.recognises(files);
        }))
        return by_data;
    if (const auto* usual =
            first_of([&](const ObjectiveTraits& traits) { return traits.is_default && model.can(traits.needs); }))
        return usual;
    return first_of([&](const ObjectiveTraits& traits) { return gets_new_head(model, traits); });
}

std::vector<std::string> classes_taught(const Recipe& recipe) {
    const ObjectiveTraits* found = find_objective(recipe.objective);
    return found && found->classes ? found->classes(recipe) : std::vector<std::string>();
}

std::unique_ptr<Objective> make_objective(const ObjectiveInputs& inputs) {
    const ObjectiveTraits& traits = objective_of(inputs.recipe);
    if (!inputs.model.can(traits.needs)) {
        const std::string others = objectives_for(inputs.model);
        inputs.recipe.resolved.reject("objective",
                                      text_of(inputs.model.cannot(traits.needs), ", which ", traits.name, " needs",
                                              others.empty() ? "" : text_of("; it learns by ", others)));
    }
    return traits.make(inputs);
}

}  // namespace tessera::training
