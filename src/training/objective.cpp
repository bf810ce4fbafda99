#include "training/objective.h"

#include <map>

#include "core/error.h"
#include "training/recipe_keys.h"

namespace tessera::training {
namespace {

std::map<std::string, MakeObjective*>& registry() {
    static std::map<std::string, MakeObjective*> objectives;
    return objectives;
}

}  // namespace

RegisterObjective::RegisterObjective(const char* name, MakeObjective* make) { registry()[name] = make; }

std::unique_ptr<Objective> make_objective(const ObjectiveInputs& inputs) {
    const std::string& name = inputs.recipe.objective;
    const auto found = registry().find(name);
    if (found != registry().end()) return found->second(inputs);
    std::string known;
    for (const auto& [other, make] : registry()) known += text_of(known.empty() ? "" : ", ", other);
    inputs.recipe.resolved.reject("objective", text_of("expected one of ", known, ", found \"", name, "\""));
}

}  // namespace tessera::training
