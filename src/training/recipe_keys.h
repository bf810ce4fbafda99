// Every key that a recipe may have, as data: its kind, its default and what it means. A recipe is checked against this
// table, completed from it, and explained by it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "formats/config.h"

namespace tessera::training {

enum class KeyKind : std::uint8_t {
    text,
    count,
    number,
    boolean,
    texts,
    numbers_by_name,
    text_or_object,
    number_or_null
};

struct RecipeKey {
    const char* name;  // dotted: "optimizer.learning_rate"
    KeyKind kind;
    const char* fallback;  // as JSON; null: absent unless given
    const char* help;
};

std::span<const RecipeKey> recipe_keys();
const char* describe(KeyKind kind);

// The recipe with each "key=value" put in its place, and defaults where nothing is given. A key that is not in the
// table is an error that suggests the nearest one.
formats::Config resolve_recipe(formats::Json recipe, const std::vector<std::string>& overrides,
                               const std::string& source);

// The known name that is nearest to a misspelt one; empty where none is near.
std::string nearest_name(const std::string& name, const std::vector<std::string>& known);

}  // namespace tessera::training
