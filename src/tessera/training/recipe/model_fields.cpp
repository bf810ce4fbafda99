#include "tessera/training/recipe/model_fields.h"

#include <filesystem>

#include "tessera/core/error.h"
#include "tessera/models/catalog.h"
#include "tessera/models/stored_weights.h"
#include "tessera/training/recipe/recipe_keys.h"

namespace tessera::training {
namespace {

using formats::Json;

const char* kind_of(const Json& value) {
    switch (value.kind()) {
        case Json::Kind::Boolean: return "true or false";
        case Json::Kind::Integer:
        case Json::Kind::Number: return "a number";
        case Json::Kind::String: return "a text";
        case Json::Kind::Array: return "a list";
        case Json::Kind::Object: return "an object";
        default: return "null";
    }
}

// Null is meant to be absent, so anything may take its place, and it may stand for anything.
bool may_replace(const Json& value, const Json& old) {
    return old.is_null() || value.is_null() || kind_of(old) == kind_of(value);
}

Json fitting(const Json& old, const std::optional<Json>& value, const std::string& given, const std::string& source) {
    if (value && may_replace(*value, old)) return *value;
    check(old.is_string() || (old.is_null() && !value), source, ": expected ", kind_of(old), " in place of ", old,
          ", found ", value.value_or(Json(given)));
    return given;
}

}  // namespace

Json configuration_named(const std::string& model, const std::string& source) {
    check(!models::has_weights(model), source, ": ", model, " has weights, whose sizes cannot be changed");
    return models::config_named(model).json();
}

Json with_field(const Json& object, const std::string& name, const std::optional<Json>& value, const std::string& given,
                const std::string& source) {
    const std::size_t dot = name.find('.');
    const std::string first = name.substr(0, dot);
    const Json* old = object.find(first);
    if (!old) {
        std::vector<std::string> known;
        for (const Json::Member& member : object.members()) known.push_back(member.key);
        const std::string nearest = nearest_name(first, known);
        fail(source, ": the recipe's model has no field '", first, "' to replace",
             nearest.empty() ? std::string() : text_of("; did you mean '", nearest, "'?"));
    }
    check(dot == name.npos || old->is_object(), source, ": the recipe's model has no section '", first, "'");
    Json changed = object;
    changed.set(first, dot == name.npos ? fitting(*old, value, given, source)
                                        : with_field(*old, name.substr(dot + 1), value, given, source));
    return changed;
}

}  // namespace tessera::training
