#include <algorithm>

#include "tessera/evaluation/evaluation.h"
#include "tessera/models/catalog.h"
#include "tessera/training/objectives/registration.h"
#include "tessera/training/recipe/recipe_keys.h"

namespace tessera::evaluation {
namespace {

using formats::Json;

// What a run was trained with and an evaluation should be taken with, where the folder is one of a run.
void take_settings_of_run(const std::filesystem::path& folder, Json& recipe, Json& data) {
    if (!std::filesystem::is_regular_file(folder / "recipe.json")) return;
    const Json run = Json::read(folder / "recipe.json");
    constexpr std::string_view section = "data.";
    for (const training::RecipeKey& key : training::recipe_keys()) {
        const std::string name = key.name;
        const Json value = training::value_of(run, name);
        if (!key.use.kept_by_eval || value.is_null()) continue;
        if (name.starts_with(section))
            data.set(name.substr(section.size()), value);
        else
            recipe.set(name, value);
    }
}

}  // namespace

training::Recipe eval_recipe(const std::string& model, const std::vector<std::string>& files,
                             const std::vector<std::string>& overrides) {
    training::check_said_once(overrides);
    Json train = Json::array(), data = Json::object(), recipe = Json::object();
    for (const std::string& file : files) train.push_back(file);
    const std::unique_ptr<models::Model> shapes = models::build(models::config_named(model));
    const training::ObjectiveTraits* objective = training::default_objective(*shapes);
    if (objective) recipe.set("objective", objective->name);
    // A run may have gone past the context.
    const std::int64_t context = shapes->context_length();
    constexpr std::int64_t most = 1024;
    const bool whole = objective && objective->reads_whole_texts;
    if (context > 0) data.set("length", whole ? context : std::min(context, most));
    if (context == 0 && objective && objective->packs_windows) data.set("length", most);
    take_settings_of_run(model, recipe, data);
    const Json* length = data.find("length");
    if (context > 0 && length != nullptr && length->is_integer() && length->as_integer() > context)
        data.set("length", context);
    recipe.set("model", model).set("data", data.set("train", std::move(train)));
    return training::read_recipe(training::resolve_recipe(std::move(recipe), overrides, "eval"));
}

}  // namespace tessera::evaluation
