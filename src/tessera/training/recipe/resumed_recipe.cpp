#include "tessera/training/recipe/resumed_recipe.h"

#include "tessera/core/error.h"
#include "tessera/training/recipe/recipe_keys.h"

namespace tessera::training {
namespace {

using formats::Json;

// 1 and 1.0 are one number.
bool same(const Json& a, const Json& b) {
    return a.is_number() && b.is_number() ? a.as_number() == b.as_number() : a == b;
}

// The layers' turns are shares of all steps: those that are over would not be what the new number asks for.
bool may_change(const RecipeKey& key, const Json& recipe) {
    const std::string name = key.name;
    const bool is_length = name == "steps" || name == "epochs";
    return key.use.may_change && !(is_length && value_of(recipe, "layer_wise") == Json(true));
}

// A configuration is as a rule long: what differs in it is named by its field.
void list_differences(std::string& list, const std::string& key, const Json& old_value, const Json& new_value) {
    if (old_value.is_object() && new_value.is_object()) {
        for (const Json::Member& member : old_value.members()) {
            const Json* found = new_value.find(member.key);
            if (!found || !same(member.value, *found))
                list_differences(list, text_of(key, ".", member.key), member.value, found ? *found : Json());
        }
        for (const Json::Member& member : new_value.members())
            if (!old_value.find(member.key))
                list_differences(list, text_of(key, ".", member.key), Json(), member.value);
        return;
    }
    list += text_of(list.empty() ? "" : "; ", key, ": ", old_value.dump(0), " → ", new_value.dump(0));
}

}  // namespace

std::vector<ChangedSetting> changed_settings(const formats::Config& earlier, const formats::Config& now) {
    std::vector<ChangedSetting> changes;
    std::string refused;
    for (const RecipeKey& key : recipe_keys()) {
        const Json old_value = value_of(earlier.json(), key.name), new_value = value_of(now.json(), key.name);
        if (same(old_value, new_value)) continue;
        if (may_change(key, earlier.json()))
            changes.push_back({key.name, old_value, new_value});
        else
            list_differences(refused, key.name, old_value, new_value);
    }
    check(refused.empty(), now.source(), ": the run to go on with has other settings (", earlier.source(),
          "): ", refused, "; a new run in another folder can have these");
    return changes;
}

Json with_history(const Json& recipe, const Json& earlier, std::int64_t step,
                  const std::vector<ChangedSetting>& changes) {
    Json history = Json::array();
    if (const Json* before = earlier.find(history_key); before && before->is_array()) history = *before;
    for (const ChangedSetting& change : changes)
        history.push_back(Json::object()
                              .set("step", step)
                              .set("key", change.key)
                              .set("old", change.old_value)
                              .set("new", change.new_value));
    Json all = recipe;
    if (!history.items().empty()) all.set(history_key, std::move(history));
    return all;
}

}  // namespace tessera::training
