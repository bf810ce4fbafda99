#include "tessera/training/recipe/recipe.h"

#include <limits>

#include "tessera/core/error.h"
#include "tessera/training/recipe/recipe_keys.h"
#include "tessera/training/recipe/recipe_value.h"

namespace tessera::training {

Recipe read_recipe(const formats::Config& resolved) {
    Recipe recipe;
    recipe.resolved = resolved;
    for (const RecipeKey& key : recipe_keys()) key.store(recipe, RecipeValue(resolved, key.name));
    if (recipe.model == formats::Json(""))
        resolved.reject("model", "expected a checkpoint, a config.json or a preset's name, found \"\"");
    if (recipe.limit == 0) recipe.limit = std::numeric_limits<std::int64_t>::max();
    if (!recipe.epochs) resolved.positive("steps");  // one of them there must be
    recipe.schedule.total_steps = recipe.steps;
    if (recipe.lora->rank == 0) recipe.lora.reset();
    if (recipe.lora && recipe.lora->alpha == 0) recipe.lora->alpha = 2 * static_cast<double>(recipe.lora->rank);
    return recipe;
}

}  // namespace tessera::training
