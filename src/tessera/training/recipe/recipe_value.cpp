#include "tessera/training/recipe/recipe_value.h"

namespace tessera::training {
namespace {

double checked_from_zero(const formats::Config& config, const std::string& name, double below) {
    const double value = config.number(name);
    if (!(value >= 0 && value < below))
        config.reject(name,
                      text_of("expected a number from 0",
                              below < RecipeValue::unbounded ? text_of(" to below ", below) : "", ", found ", value));
    return value;
}

}  // namespace

double RecipeValue::from_zero(double below) const { return checked_from_zero(section_, name_, below); }

double RecipeValue::above_zero() const {
    const double value = number();
    if (!(value > 0)) reject(text_of("expected a number above 0, found ", value));
    return value;
}

double RecipeValue::share() const {
    const double value = number();
    if (!(value >= 0 && value <= 1)) reject(text_of("expected a share from 0 to 1, found ", value));
    return value;
}

std::vector<std::pair<std::string, double>> RecipeValue::factors() const {
    const formats::Config all = section_.section(name_);
    std::vector<std::pair<std::string, double>> list;
    for (const auto& [name, factor] : all.json().members())
        list.emplace_back(name, checked_from_zero(all, name, unbounded));
    return list;
}

}  // namespace tessera::training
