#include "tessera/training/recipe/recipe_keys.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "tessera/core/error.h"
#include "tessera/models/catalog.h"
#include "tessera/text/edit_distance.h"
#include "tessera/training/recipe/model_fields.h"
#include "tessera/training/recipe/recipe_paths.h"

namespace tessera::training {
namespace {

using enum KeyKind;
using formats::Json;

const RecipeKey* find_key(const std::string& name) {
    for (const RecipeKey& key : recipe_keys())
        if (name == key.name) return &key;
    return nullptr;
}

bool is_section(const std::string& name) {
    return std::any_of(recipe_keys().begin(), recipe_keys().end(),
                       [&](const RecipeKey& key) { return std::string_view(key.name).starts_with(name + "."); });
}

// What other programs call our keys.
constexpr std::pair<std::string_view, const char*> elsewhere[] = {
    {"lr", "optimizer.learning_rate"},
    {"batch_size", "batch"},
    {"micro_batch_size", "batch"},
    {"max_steps", "steps"},
    {"max_iters", "steps"},
    {"gradient_accumulation", "accumulate"},
    {"gradient_accumulation_steps", "accumulate"},
    {"grad_clip", "clip"},
    {"max_grad_norm", "clip"},
    {"warmup_steps", "schedule.warmup"},
    {"lr_scheduler", "schedule.name"},
    {"max_length", "data.length"},
    {"seq_len", "data.length"},
    {"block_size", "data.length"},
    {"dtype", "precision"},
    {"gradient_checkpointing", "recompute"},
    {"eval_every", "evaluate.every"},
    {"save_steps", "save.every"},
    {"dataset", "data.train"},
};

[[noreturn]] void reject_section(const std::string& name, const std::string& source) {
    std::string members;
    for (const RecipeKey& key : recipe_keys())
        if (std::string_view(key.name).starts_with(name + "."))
            members += text_of(members.empty() ? "" : ", ", key.name);
    fail(source, ": '", name, "' is a section: ", members);
}

[[noreturn]] void reject_unknown(const std::string& name, const std::string& source) {
    if (is_section(name)) reject_section(name, source);
    std::vector<std::string> known;
    for (const RecipeKey& key : recipe_keys()) known.emplace_back(key.name);
    const std::string last = name.substr(name.rfind('.') + 1);
    const auto meant = std::find_if(std::begin(elsewhere), std::end(elsewhere),
                                    [&](const auto& entry) { return entry.first == last; });
    const std::string nearest = meant != std::end(elsewhere) ? meant->second : nearest_name(name, known);
    if (nearest.empty()) throw UnknownKey(text_of(source, ": unknown key '", name, "'"));
    fail(source, ": unknown key '", name, "'; did you mean '", nearest, "'?");
}

bool is_list(KeyKind kind) { return kind == Texts || kind == Paths; }
bool is_count(KeyKind kind) { return kind == Count || kind == CountOrNull; }

bool fits(KeyKind kind, const Json& value) {
    const bool is_null = value.is_null(), is_number = value.is_number() && std::isfinite(value.as_number());
    switch (kind) {
        case Text:
        case Path: return value.is_string();
        case Count: return value.is_integer() && value.as_integer() >= 0;
        case CountOrNull: return is_null || fits(Count, value);
        case Number: return is_number;
        case NumberOrNull: return is_null || is_number;
        case Boolean: return value.is_boolean();
        case PathOrObject: return value.is_string() || value.is_object();
        case Texts:
        case Paths:
            return value.is_array() && std::all_of(value.items().begin(), value.items().end(),
                                                   [](const Json& item) { return item.is_string(); });
        case NumbersByName:
            return value.is_object() &&
                   std::all_of(value.members().begin(), value.members().end(),
                               [](const Json::Member& member) { return member.value.is_number(); });
    }
    return false;
}

// "q_proj,v_proj" as two texts. A path may have a comma in its name: recipe_paths.h looks.
Json without_commas(const Json& list) {
    Json texts = Json::array();
    for (const Json& item : list.items()) {
        const std::string& text = item.as_string();
        if (text.find(',') == text.npos) {
            texts.push_back(item);
            continue;
        }
        std::istringstream words(text);
        for (std::string word; std::getline(words, word, ',');)
            if (!word.empty()) texts.push_back(word);
    }
    return texts;
}

// A lone text stands for a list of what is between its commas, and 1e3 for 1000.
Json checked(const RecipeKey& key, Json value, const std::string& source) {
    if (is_list(key.kind) && value.is_string()) value = Json::array().push_back(std::move(value));
    if (key.kind == Texts && fits(key.kind, value)) value = without_commas(value);
    constexpr double most_exact = 0x1p53;
    if (is_count(key.kind) && value.kind() == Json::Kind::Number)
        if (const double number = value.as_number(); std::trunc(number) == number && std::abs(number) <= most_exact)
            value = static_cast<std::int64_t>(number);
    check(fits(key.kind, value), source, ": ", key.name, ": expected ", describe(key.kind), ", found ", value);
    return value;
}

using Values = std::vector<std::pair<const RecipeKey*, Json>>;

void put(Values& values, const RecipeKey& key, Json value) {
    for (auto& [known, old] : values)
        if (known == &key) {
            old = std::move(value);
            return;
        }
    values.emplace_back(&key, std::move(value));
}

void collect(const Json& object, const std::string& prefix, const std::string& source, Values& values) {
    for (const auto& [name, value] : object.members()) {
        const std::string full = prefix + name;
        if (full == history_key) continue;
        if (const RecipeKey* key = find_key(full))
            put(values, *key, checked(*key, value, source));
        else if (value.is_object() && is_section(full))
            collect(value, full + ".", source, values);
        else
            reject_unknown(full, source);
    }
}

// What stands behind key=: JSON where it reads as such.
std::optional<Json> as_json(const std::string& given) {
    try {
        return Json::parse(given, "");
    } catch (const Error&) {
        return std::nullopt;
    }
}

Json value_given(const RecipeKey& key, const std::string& given) {
    const bool is_text = key.kind == Text || key.kind == Path || (is_list(key.kind) && !given.starts_with("[")) ||
                         (key.kind == PathOrObject && !given.starts_with("{"));
    return is_text ? Json(given) : as_json(given).value_or(Json(given));
}

Json* find_value(Values& values, std::string_view name) {
    for (auto& [key, value] : values)
        if (key->name == name) return &value;
    return nullptr;
}

// model.hidden_size=64: a field of the configuration that the recipe holds or names. False where the model is none.
bool override_model(Values& values, const std::string& name, const std::string& given, const std::string& source) {
    Json* model = find_value(values, "model");
    if (!name.starts_with("model.") || !model) return false;
    if (model->is_string()) *model = configuration_named(model->as_string(), source);
    *model = with_field(*model, name.substr(6), as_json(given), given, source);
    return true;
}

void override_with(Values& values, const std::string& assignment) {
    const std::size_t equals = assignment.find('=');
    check(equals != assignment.npos && equals > 0, "'", assignment, "': expected key=value, such as steps=200");
    const std::string name = assignment.substr(0, equals), given = assignment.substr(equals + 1);
    const std::string source = text_of("'", assignment, "'");
    if (override_model(values, name, given, source)) return;
    const RecipeKey* key = find_key(name);
    if (!key) reject_unknown(name, source);
    put(values, *key, with_whole_path(*key, checked(*key, value_given(*key, given), source), {}));
}

bool same_value(const std::string& one, const std::string& other) {
    if (one == other) return true;
    const std::optional<Json> a = as_json(one), b = as_json(other);
    return a && b && (a->is_number() && b->is_number() ? a->as_number() == b->as_number() : *a == *b);
}

// A run is as long as its steps or its epochs say. What the command line says goes before what the file says.
void settle_length(Values& values, const std::vector<std::string>& overrides, const std::string& source) {
    Json *steps = find_value(values, "steps"), *epochs = find_value(values, "epochs");
    const auto is_said = [&](const char* start) {
        return std::any_of(overrides.begin(), overrides.end(),
                           [&](const std::string& assignment) { return assignment.starts_with(start); });
    };
    const bool has_steps = steps && !steps->is_null(), has_epochs = epochs && !epochs->is_null();
    if (has_steps && has_epochs) {
        check(is_said("steps=") != is_said("epochs="), source, ": steps: ", *steps, " and epochs: ", *epochs,
              ": a run is as long as one of them says");
        *(is_said("steps=") ? epochs : steps) = Json();
    } else if (has_epochs) {
        put(values, *find_key("steps"), Json());
    } else if (!has_steps) {
        std::erase_if(values, [](const auto& pair) { return pair.first->name == std::string_view("steps"); });
    }
}

// Where nobody says how long sequences are, they fit the model. One that cannot be read is refused later.
void fit_length(Values& values) {
    const RecipeKey& key = *find_key("data.length");
    const Json* model = nullptr;
    for (const auto& [known, value] : values) {
        if (known == &key) return;
        if (known->name == std::string_view("model")) model = &value;
    }
    try {
        const formats::Config config =
            model->is_string() ? models::config_named(model->as_string()) : formats::Config(*model, key.name);
        const std::int64_t context = models::build(config)->context_length(), usual = std::stoll(key.fallback);
        if (context > 0 && context < usual) values.emplace_back(&key, context);
    } catch (const Error&) {
    }
}

// {"optimizer": {"name": …}} from dotted names; the sections come in the table's order.
Json nested(const Values& values) {
    Json all = Json::object();
    for (const RecipeKey& key : recipe_keys()) {
        const auto found =
            std::find_if(values.begin(), values.end(), [&](const auto& pair) { return pair.first == &key; });
        if (found == values.end() && !key.fallback) continue;
        Json value = found == values.end() ? Json::parse(key.fallback, key.name) : found->second;
        const std::string name = key.name;
        const std::size_t dot = name.find('.');
        if (dot == name.npos) {
            all.set(name, std::move(value));
            continue;
        }
        const Json* section = all.find(name.substr(0, dot));
        Json changed = section ? *section : Json::object();
        changed.set(name.substr(dot + 1), std::move(value));
        all.set(name.substr(0, dot), std::move(changed));
    }
    return all;
}

}  // namespace

Json value_of(const Json& recipe, const std::string& key) {
    const std::size_t dot = key.find('.');
    const Json* value = recipe.find(key.substr(0, dot));
    if (value && dot != key.npos) value = value->is_object() ? value->find(key.substr(dot + 1)) : nullptr;
    return value ? *value : Json();
}

const char* describe(KeyKind kind) {
    switch (kind) {
        case Text: return "a text";
        case Path: return "a path";
        case Count: return "a count from 0";
        case CountOrNull: return "a count from 0 or null";
        case Number: return "a number";
        case NumberOrNull: return "a number or null";
        case Boolean: return "true or false";
        case Texts: return "a list of texts";
        case Paths: return "a list of paths";
        case NumbersByName: return "an object of numbers";
        default: return "a path or an object";
    }
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& known) {
    std::string nearest;
    std::int64_t least = std::max<std::int64_t>(2, static_cast<std::int64_t>(name.size()) / 3) + 1;
    for (const std::string& candidate : known) {
        const std::size_t dot = candidate.rfind('.');
        const std::string last = dot == candidate.npos ? candidate : candidate.substr(dot + 1);
        const std::int64_t changes = std::min(edit_distance(name, candidate), edit_distance(name, last));
        if (changes < least) {
            least = changes;
            nearest = candidate;
        }
    }
    return nearest;
}

void check_said_once(const std::vector<std::string>& overrides) {
    std::map<std::string, std::string> said;
    for (const std::string& assignment : overrides) {
        const std::size_t equals = std::min(assignment.find('='), assignment.size() - 1);
        const std::string value = assignment.substr(equals + 1);
        const auto [earlier, is_new] = said.emplace(assignment.substr(0, equals), value);
        check(is_new || same_value(earlier->second, value), earlier->first, ": said twice, ", earlier->second, " and ",
              value);
    }
}

formats::Config resolve_recipe(Json recipe, const std::vector<std::string>& overrides, const std::string& source,
                               const std::filesystem::path& folder) {
    check(recipe.is_object(), source, ": expected an object of settings, found ", recipe);
    Values values;
    collect(recipe, "", source, values);
    for (auto& [key, value] : values) value = with_whole_path(*key, std::move(value), folder);
    for (const std::string& assignment : overrides) override_with(values, assignment);
    settle_length(values, overrides, source);
    for (const RecipeKey& key : recipe_keys())
        if (!key.fallback)
            check(std::any_of(values.begin(), values.end(), [&](const auto& pair) { return pair.first == &key; }),
                  source, ": ", key.name, " is missing: ", key.help);
    fit_length(values);
    // Whatever is found wrong later may have come from either.
    std::string origin = source;
    for (const std::string& assignment : overrides)
        origin += text_of(&assignment == &overrides.front() ? " with " : " ", assignment);
    return {nested(values), origin};
}

formats::Config resolve_recipe_file(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
    return resolve_recipe(Json::read(file), overrides, file.string(), file.parent_path());
}

}  // namespace tessera::training
