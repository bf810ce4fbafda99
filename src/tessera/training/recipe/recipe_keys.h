// Keys of a recipe as data: each one's kind, default, meaning and place in a Recipe. A recipe is checked against this
// table, completed from it, read by it and explained by it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tessera/core/error.h"
#include "tessera/formats/config.h"
#include "tessera/training/recipe/recipe.h"

namespace tessera::training {

// A recipe has a key that there is not, and none that could be meant instead.
class UnknownKey : public Error {
   public:
    using Error::Error;
};

enum class KeyKind : std::uint8_t {
    Text,
    Count,
    CountOrNull,
    Number,
    NumberOrNull,
    Boolean,
    Texts,
    NumbersByName,
    Path,
    Paths,
    PathOrObject
};

class RecipeValue;

struct KeyUse {
    bool may_change = false;    // when a run goes on from a checkpoint
    bool kept_by_eval = false;  // an evaluation of the run's model takes the run's own value
};

struct RecipeKey {
    const char* name;  // dotted: "optimizer.learning_rate"
    KeyKind kind;
    const char* fallback;  // as JSON; null: absent unless given
    const char* help;
    void (*store)(Recipe& recipe, const RecipeValue& value);  // where it stands in a Recipe
    KeyUse use = {};
};

std::span<const RecipeKey> recipe_keys();
const char* describe(KeyKind kind);
// The value of a dotted key in a recipe; null where it is absent.
formats::Json value_of(const formats::Json& recipe, const std::string& key);

// Throws where a person has said one setting ("key=value") with two values, of which nobody knows which was meant.
void check_said_once(const std::vector<std::string>& overrides);

// The recipe with each "key=value" put in its place, and defaults where nothing is given. A key that is not in the
// table is an error that suggests the nearest one. The recipe's own paths are looked for in `folder` first, see
// recipe_paths.h.
formats::Config resolve_recipe(formats::Json recipe, const std::vector<std::string>& overrides,
                               const std::string& source, const std::filesystem::path& folder = {});
// The same of a file, whose paths are relative to it.
formats::Config resolve_recipe_file(const std::filesystem::path& file, const std::vector<std::string>& overrides = {});

// What became of a run's settings when it was resumed; written into recipe.json and no setting itself.
constexpr const char* history_key = "resumed";

// The known name that is nearest to a misspelt one; empty where none is near.
std::string nearest_name(const std::string& name, const std::vector<std::string>& known);

}  // namespace tessera::training
