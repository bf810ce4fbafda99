#include "training/recipe_keys.h"

#include <algorithm>
#include <cctype>

#include "core/edit_distance.h"
#include "core/error.h"
#include "models/catalog.h"

namespace tessera::training {
namespace {

using enum KeyKind;
using formats::Json;

constexpr RecipeKey keys[] = {
    {"model", text_or_object, nullptr, "a checkpoint, a config.json, a preset's name, or the config itself"},
    {"from_scratch", boolean, "false", "random weights even where the model is a checkpoint"},
    {"weights", text, "\"\"",
     "a checkpoint whose parameters of the same name and shape the model starts from; its tokenizer is taken where one "
     "would be made"},
    {"tokenizer", text, "\"\"",
     "a folder or file; empty: the model's own folder; characters, bytes, words, bpe, unigram or wordpiece: made from "
     "the data"},
    {"vocabulary", count, "4000", "tokens of a bpe, unigram or wordpiece tokenizer made from the data"},
    {"objective", text, "\"causal\"", "what is learned; see docs/training.md"},
    {"data.train", texts, nullptr, "files or folders"},
    {"data.validation", texts, "[]", "files or folders; empty: no evaluation"},
    {"data.length", count, "128", "tokens of one sequence; where nothing is said, no more than the model's context"},
    {"beyond_context", boolean, "false",
     "sequences may be longer than the model's context, where positions do not end"},
    {"data.separator", text, "\"\"", "cuts text files into documents where it stands"},
    {"data.field", text, "\"text\"", "the member of a JSON line that holds the text"},
    {"data.limit", count, "0", "learn from the first so many examples only; 0: from all"},
    {"data.held_out", count, "0",
     "the last so many examples are not learned from, and evaluated on where data.validation is empty"},
    {"data.shuffle", boolean, "true", "another order every epoch, by the seed"},
    {"data.shard", text, "\"0/1\"", "the part of the examples for this process: 2/4 is the third of four"},
    {"data.mask", number, "0.15", "masked: the share of tokens to predict"},
    {"data.whole_words", boolean, "false", "masked: words are masked whole"},
    {"data.noise", number, "0.15", "span and denoise: the share of tokens taken out"},
    {"data.span", number, "3", "span and denoise: the mean length of a span"},
    {"data.permute", boolean, "true", "denoise: sentences change places"},
    {"batch", count, "8", "sequences or pictures of one step"},
    {"accumulate", count, "1", "batches whose gradients are added up before a step"},
    {"steps", count, "1000", "how many steps"},
    {"optimizer.name", text, "\"adamw\"", "adamw, adafactor, sgd; or count: one pass that counts n-grams"},
    {"optimizer.learning_rate", number, "0.0003", "the highest of the schedule"},
    {"optimizer.beta1", number, "0.9", "adamw"},
    {"optimizer.beta2", number, "0.95", "adamw"},
    {"optimizer.epsilon", number, "1e-8", "adamw"},
    {"optimizer.momentum", number, "0", "sgd"},
    {"optimizer.weight_decay", number, "0.1", "of matrices; vectors do not decay"},
    {"schedule.name", text, "\"cosine\"", "constant, cosine, linear or inverse_square_root"},
    {"schedule.warmup", count, "0", "steps of linear warm-up"},
    {"schedule.floor", number, "0.1", "where cosine and linear end, as a share of the learning rate"},
    {"clip", number, "1", "the largest norm of all gradients together; 0: as they are"},
    {"label_smoothing", number, "0", "this share of each target is spread over all classes"},
    {"z_loss", number, "0", "this times the squared log of the softmax's sum is added to the loss"},
    {"balance", number_or_null, "null",
     "this times how unequally experts are busy is added to the loss; null: as much as the model's config says"},
    {"layer_wise", boolean, "false",
     "autoencode and classify: layers learn one after another, each for its share of the steps"},
    {"freeze", texts, "[]", "parameters whose name contains one of these do not learn"},
    {"rates", numbers_by_name, "{}", "learning rates times this factor where the name contains the key"},
    {"lora.rank", count, "0", "learn adapters of this rank beside frozen weights; 0: the weights themselves"},
    {"lora.alpha", number, "0", "adapters count alpha / rank; 0: twice the rank"},
    {"lora.dropout", number, "0", "the share of what adapters see that is dropped while they learn"},
    {"lora.targets", texts, "[\"all-linear\"]", "the Hub's names of layers to adapt, such as q_proj,v_proj"},
    {"precision", text, "\"f32\"", "f32 or bf16: of the weights in use; the optimizer keeps f32"},
    {"recompute", boolean, "false", "blocks are computed again in backward: less memory, a third more time"},
    {"ema", number, "0", "keeps a moving average of the weights with this decay, and saves it beside them"},
    {"seed", count, "0", "of weights, order and dropout"},
    {"evaluate.every", count, "0", "steps between evaluations; 0: at the end only"},
    {"evaluate.batches", count, "16", "batches of one evaluation at most"},
    {"sample.every", count, "0", "steps between printed samples; 0: none"},
    {"sample.prompt", text, "\"\"", "what a sample continues"},
    {"sample.tokens", count, "64", "how long it is"},
    {"save.every", count, "0", "steps between checkpoints; 0: at the end only"},
    {"save.keep", count, "2", "the newest so many stay, and the best"},
    {"spike", number, "4", "a loss above this times its moving average stops the run; 0: never"},
    {"device", text, "\"cpu\"", "cpu or cuda"},
};

const RecipeKey* find_key(const std::string& name) {
    for (const RecipeKey& key : keys)
        if (name == key.name) return &key;
    return nullptr;
}

bool is_section(const std::string& name) {
    return std::any_of(std::begin(keys), std::end(keys),
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

[[noreturn]] void reject_unknown(const std::string& name, const std::string& source) {
    std::vector<std::string> known;
    for (const RecipeKey& key : keys) known.emplace_back(key.name);
    const std::string last = name.substr(name.rfind('.') + 1);
    const auto meant = std::find_if(std::begin(elsewhere), std::end(elsewhere),
                                    [&](const auto& entry) { return entry.first == last; });
    const std::string nearest = meant != std::end(elsewhere) ? meant->second : nearest_name(name, known);
    fail(source, ": unknown key '", name, "'",
         nearest.empty() ? std::string("; `tessera train --keys` lists all")
                         : text_of("; did you mean '", nearest, "'?"));
}

bool fits(KeyKind kind, const Json& value) {
    switch (kind) {
        case text: return value.is_string();
        case count: return value.is_integer() && value.as_integer() >= 0;
        case number: return value.is_number();
        case number_or_null: return value.is_number() || value.is_null();
        case boolean: return value.is_boolean();
        case text_or_object: return value.is_string() || value.is_object();
        case texts:
            return value.is_array() && std::all_of(value.items().begin(), value.items().end(),
                                                   [](const Json& item) { return item.is_string(); });
        case numbers_by_name:
            return value.is_object() &&
                   std::all_of(value.members().begin(), value.members().end(),
                               [](const Json::Member& member) { return member.value.is_number(); });
    }
    return false;
}

// A lone text stands for a list of one.
Json checked(const RecipeKey& key, Json value, const std::string& source) {
    if (key.kind == texts && value.is_string()) value = Json::array().push_back(std::move(value));
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
        if (const RecipeKey* key = find_key(full))
            put(values, *key, checked(*key, value, source));
        else if (value.is_object() && is_section(full))
            collect(value, full + ".", source, values);
        else
            reject_unknown(full, source);
    }
}

// The object with the field that a dotted name leads to replaced. Only fields that are there: what a model's
// configuration may say is not listed here, and a misspelt name would change nothing in silence.
Json with_field(const Json& object, const std::string& name, Json value, const std::string& source) {
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
    if (dot != name.npos) {
        check(old->is_object(), source, ": the recipe's model has no section '", first, "'");
        value = with_field(*old, name.substr(dot + 1), std::move(value), source);
    }
    Json changed = object;
    changed.set(first, std::move(value));
    return changed;
}

// model.hidden_size=64, where the recipe holds the model's configuration. False where it does not.
bool override_model(Values& values, const std::string& name, const std::string& given, const std::string& source) {
    if (!name.starts_with("model.")) return false;
    for (auto& [key, value] : values)
        if (key->name == std::string_view("model") && value.is_object()) {
            const bool is_text = given.empty() || std::isalpha(static_cast<unsigned char>(given[0]));
            const bool is_word = given == "true" || given == "false" || given == "null";
            value = with_field(value, name.substr(6), is_text && !is_word ? Json(given) : Json::parse(given, source),
                               source);
            return true;
        }
    return false;
}

void override_with(Values& values, const std::string& assignment) {
    const std::size_t equals = assignment.find('=');
    check(equals != assignment.npos && equals > 0, "'", assignment, "': expected key=value, such as steps=200");
    const std::string name = assignment.substr(0, equals), given = assignment.substr(equals + 1);
    const std::string source = text_of("'", assignment, "'");
    if (override_model(values, name, given, source)) return;
    const RecipeKey* key = find_key(name);
    if (!key) reject_unknown(name, source);
    const bool is_text = key->kind == text || (key->kind == texts && !given.starts_with("[")) ||
                         (key->kind == text_or_object && !given.starts_with("{"));
    put(values, *key, checked(*key, is_text ? Json(given) : Json::parse(given, source), source));
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
    for (const RecipeKey& key : keys) {
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

std::span<const RecipeKey> recipe_keys() { return keys; }

const char* describe(KeyKind kind) {
    switch (kind) {
        case text: return "a text";
        case count: return "a count from 0";
        case number: return "a number";
        case number_or_null: return "a number or null";
        case boolean: return "true or false";
        case texts: return "a list of texts";
        case numbers_by_name: return "an object of numbers";
        default: return "a text or an object";
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

formats::Config resolve_recipe(Json recipe, const std::vector<std::string>& overrides, const std::string& source) {
    check(recipe.is_object(), source, ": expected an object of settings, found ", recipe);
    Values values;
    collect(recipe, "", source, values);
    for (const std::string& assignment : overrides) override_with(values, assignment);
    for (const RecipeKey& key : keys)
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

}  // namespace tessera::training
