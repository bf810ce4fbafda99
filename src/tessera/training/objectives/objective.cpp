#include "tessera/training/objectives/objective.h"

#include <map>

#include "tessera/core/error.h"
#include "tessera/training/recipe/recipe_keys.h"

namespace tessera::training {
namespace {

struct Entry {
    MakeObjective* make = nullptr;
    FindClasses* classes = nullptr;
};

std::map<std::string, Entry>& registry() {
    static std::map<std::string, Entry> objectives;
    return objectives;
}

}  // namespace

RegisterObjective::RegisterObjective(const char* name, MakeObjective* make, FindClasses* classes) {
    registry()[name] = {make, classes};
}

std::vector<std::string> classes_taught(const Recipe& recipe) {
    const auto found = registry().find(recipe.objective);
    return found != registry().end() && found->second.classes ? found->second.classes(recipe)
                                                              : std::vector<std::string>();
}

std::unique_ptr<Objective> make_objective(const ObjectiveInputs& inputs) {
    const std::string& name = inputs.recipe.objective;
    const auto found = registry().find(name);
    if (found != registry().end()) return found->second.make(inputs);
    std::string known;
    for (const auto& [other, entry] : registry()) known += text_of(known.empty() ? "" : ", ", other);
    inputs.recipe.resolved.reject("objective", text_of("expected one of ", known, ", found \"", name, "\""));
}

}  // namespace tessera::training
