#include "tessera/training/run/initial_model.h"

#include <algorithm>
#include <map>

#include "tessera/core/error.h"
#include "tessera/formats/find_file.h"
#include "tessera/formats/own_files.h"
#include "tessera/models/catalog.h"
#include "tessera/models/class_names.h"
#include "tessera/models/dtype_names.h"
#include "tessera/models/new_head.h"
#include "tessera/models/stored_weights.h"
#include "tessera/models/vision/vision.h"
#include "tessera/tokenizers/tokenizer.h"
#include "tessera/training/objectives/registration.h"
#include "tessera/training/tokenizer_spec.h"

namespace tessera::training {
namespace {

namespace fs = std::filesystem;
using formats::Config;
using formats::Json;

constexpr std::uint64_t lora_use = 4;  // of the recipe's seed

bool starts_from_weights(const Recipe& recipe) {
    const Json& model = *recipe.resolved.json().find("model");
    return model.is_string() && fs::exists(model.as_string()) && models::has_weights(model.as_string()) &&
           !recipe.resolved.boolean("from_scratch");
}

Config config_of(const Recipe& recipe) {
    const Json& model = *recipe.resolved.json().find("model");
    return model.is_string() ? models::config_named(model.as_string())
                             : Config(model, recipe.resolved.source(), "model");
}

void refuse_small_vocabulary(const Config& config, const tokenizers::Tokenizer* tokenizer) {
    if (tokenizer && config.has("vocab_size") && config.integer("vocab_size") < tokenizer->size())
        config.reject("vocab_size", text_of("the tokenizer has ", tokenizer->size(), " tokens, the model only ",
                                            config.integer("vocab_size")));
}

// A config without a vocabulary gets the tokenizer's.
Config with_vocabulary(const Config& config, const tokenizers::Tokenizer* tokenizer) {
    if (!tokenizer || config.has("vocab_size") || config.has("text_config")) return config;
    Json json = config.json();
    json.set("vocab_size", tokenizer->size());
    return {std::move(json), config.source()};
}

// Whatever lies in the working directory under that name; ./words is a folder.
bool is_made(const Recipe& recipe) { return tokenizer_kind(recipe.tokenizer).has_value(); }

// A run's own tokenizer: that of the weights it starts from, whose embeddings know those tokens, else one made from the
// data. Empty: there is none.
fs::path own_tokenizer(const Recipe& recipe, const InitialModelOptions& options) {
    const fs::path& tokenizer_dir = options.tokenizer_dir;
    if (tokenizer_dir.empty() && is_made(recipe))
        recipe.resolved.reject("tokenizer", text_of("one of ", recipe.tokenizer, " is made in training only"));
    if (tokenizer_dir.empty()) return {};
    fs::path folder = tokenizer_dir / "tokenizer";
    if (options.earlier && fs::exists(folder)) return folder;
    formats::remove_own(folder, formats::is_tokenizer_file);
    const std::string weights = recipe.resolved.text("weights");
    const fs::path of_weights = weights.empty() ? fs::path() : models::tokenizer_place(models::model_place(weights));
    if (!of_weights.empty()) {
        fs::create_directories(folder);
        tokenizers::copy_tokenizer(of_weights, folder);
    } else if (is_made(recipe)) {
        make_tokenizer({.kind = *tokenizer_kind(recipe.tokenizer),
                        .data = recipe.train_data,
                        .vocabulary = recipe.resolved.positive("vocabulary"),
                        .sentinels = objective_of(recipe).sentinels,
                        .report = options.on_preparation},
                       folder);
    } else {
        return {};
    }
    return folder;
}

// The recipe's model where it is a folder or a file, not a preset or the config itself.
std::optional<models::ModelPlace> place_of(const Recipe& recipe) {
    const Json& model = *recipe.resolved.json().find("model");
    if (!model.is_string() || !fs::exists(model.as_string())) return std::nullopt;
    return models::model_place(model.as_string());
}

// The folder or the file of the run's tokenizer; empty: there is none.
fs::path find_tokenizer(const Recipe& recipe, const std::optional<models::ModelPlace>& place,
                        const InitialModelOptions& options) {
    if (is_made(recipe) || (recipe.tokenizer.empty() && !place)) return own_tokenizer(recipe, options);
    if (recipe.tokenizer.empty()) return models::tokenizer_place(*place);
    if (!fs::exists(recipe.tokenizer))
        recipe.resolved.reject("tokenizer", text_of("'", recipe.tokenizer, "': no such file or folder, and none of ",
                                                    "characters, bytes, words, bpe, unigram and wordpiece"));
    return recipe.tokenizer;
}

// The other model's parameters where ours have the same name and shape: an encoder under another head, say.
void take_weights(models::Model& model, const Recipe& recipe) {
    const std::string path = recipe.resolved.text("weights");
    const std::unique_ptr<models::Model> other = models::load(path);
    std::map<std::string, Tensor> theirs;
    for (const auto& [name, tensor] : nn::parameters(*other)) theirs.emplace(name, *tensor);
    std::size_t taken = 0;
    for (const auto& [name, tensor] : nn::parameters(model)) {
        const auto found = theirs.find(name);
        if (found == theirs.end() || found->second.shape() != tensor->shape()) continue;
        tensor->copy_from(found->second);
        ++taken;
    }
    check(taken > 0, path, ": no parameter has the name and the shape of one of the model's");
}

// Quantised weights stay what they are where only adapters learn.
void convert(models::Model& model, const Recipe& recipe) {
    bool quantised = false;
    for (const auto& [name, tensor] : nn::parameters(model)) {
        const bool stays = recipe.lora && is_quantised(tensor->dtype());
        quantised = quantised || stays;
        if (!stays && !is_integer(tensor->dtype())) *tensor = tensor->detach().to(recipe.precision);
    }
    if (quantised && recipe.precision != DType::F32)
        recipe.resolved.reject("precision", "a quantised model computes in f32");
    if (model.config.has("dtype") || model.config.has("torch_dtype"))
        model.config = models::with_dtype(model.config, recipe.precision);
}

// Whether the model's classes are those of the data: by their names, or by their numbers where one side has no names.
bool tells_apart(const Config& config, const std::vector<std::string>& classes) {
    const std::vector<std::string> own = models::class_names(config);
    const auto is_known = [&](const std::string& name) { return std::find(own.begin(), own.end(), name) != own.end(); };
    if (std::all_of(classes.begin(), classes.end(), is_known)) return true;
    if (std::all_of(classes.begin(), classes.end(), models::is_class_number))
        return std::all_of(classes.begin(), classes.end(), [&](const std::string& number) {
            return std::stoll(number) < static_cast<std::int64_t>(own.size());
        });
    const bool unnamed =
        std::all_of(own.begin(), own.end(), [](const std::string& name) { return name.starts_with("LABEL_"); });
    return unnamed && own.size() == classes.size();
}

std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t most = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += text_of(i > 0 ? ", " : "", names[i]);
    return text + (names.size() > most ? ", …" : "");
}

// Numbers stand for all classes up to the highest.
std::vector<std::string> with_gaps_filled(const Recipe& recipe, std::vector<std::string> classes) {
    if (!std::all_of(classes.begin(), classes.end(), models::is_class_number)) return classes;
    constexpr std::int64_t most = 100'000;
    std::int64_t highest = 0;
    for (const std::string& number : classes) highest = std::max<std::int64_t>(highest, std::stoll(number));
    check(highest < most, recipe.train_data.front(), ": a class has the number ", highest, "; there may be ", most);
    classes.clear();
    for (std::int64_t i = 0; i <= highest; ++i) classes.push_back(std::to_string(i));
    return classes;
}

// A configuration that does not say how many classes there are gets those of the data. Numbers may leave out some.
Config with_classes_of_data(const Recipe& recipe, const Config& config, const std::vector<std::string>& classes) {
    const bool is_said = config.has("num_labels") || config.has("id2label") || config.has("classes");
    if (classes.empty() || (is_said && tells_apart(config, classes))) return config;
    const std::vector<std::string> wanted = with_gaps_filled(recipe, classes);
    if (!is_said) return models::can_classify(config) ? models::with_classes(config, wanted) : config;
    const std::size_t has = models::class_names(config).size();
    config.reject(config.has("id2label")     ? "id2label"
                  : config.has("num_labels") ? "num_labels"
                                             : "classes",
                  text_of("the model has ", has, " classes, and the data ",
                          has == wanted.size() ? "others" : text_of(wanted.size()), ": ", listed(wanted)));
}

// A configuration that was edited since the run began says what its weights are not.
void refuse_other_config(const Recipe& recipe, const Config& wanted, const Config& trained) {
    for (const Json::Member& member : wanted.json().members()) {
        constexpr const char* written_by_training[] = {"architectures", "dtype",    "torch_dtype",
                                                       "num_labels",    "id2label", "label2id"};
        const auto is_ours = [&](const char* name) { return member.key == name; };
        if (std::any_of(std::begin(written_by_training), std::end(written_by_training), is_ours)) continue;
        const Json* found = trained.json().find(member.key);
        if (found ? *found != member.value : !member.value.is_null())
            recipe.resolved.reject("model", text_of(wanted.source(), " has changed since the run began: ", member.key,
                                                    ": ", found ? *found : Json(), " → ", member.value));
    }
}

std::unique_ptr<models::Model> load_checkpoint(const Recipe& recipe, const InitialModelOptions& options) {
    const fs::path path = recipe.resolved.text("model");
    const std::vector<std::string>& classes = options.classes;
    const Config config = models::config_named(path.string());
    if (classes.empty() || tells_apart(config, classes) || !models::can_classify(config)) return models::load(path);
    const std::vector<std::string> names = with_gaps_filled(recipe, classes);
    if (options.on_new_head) options.on_new_head(names);
    return models::load_under_head(models::open(path), models::with_classes(config, names), recipe.seed);
}

std::unique_ptr<models::Model> make_model(const Recipe& recipe, const tokenizers::Tokenizer* tokenizer,
                                          const InitialModelOptions& options) {
    if (options.earlier && !recipe.lora) {
        std::unique_ptr<models::Model> model = models::load(*options.earlier);
        if (!starts_from_weights(recipe)) refuse_other_config(recipe, config_of(recipe), model->config);
        return model;
    }
    if (starts_from_weights(recipe)) {
        std::unique_ptr<models::Model> model = load_checkpoint(recipe, options);
        // A checkpoint's own tokenizer may have tokens that its model never sees.
        if (!recipe.tokenizer.empty()) refuse_small_vocabulary(model->config, tokenizer);
        return model;
    }
    const Config config = with_classes_of_data(recipe, with_vocabulary(config_of(recipe), tokenizer), options.classes);
    refuse_small_vocabulary(config, tokenizer);
    return models::initialised(config, recipe.seed, DType::F32);
}

void add_adapters(models::OpenedModel& start, const Recipe& recipe, const InitialModelOptions& options) {
    start.lora = recipe.lora;
    start.lora->head = !options.classes.empty();
    start.base = fs::absolute(start.path).lexically_normal();
    if (options.earlier)
        models::apply_adapters(*start.model, *options.earlier);
    else
        models::attach_adapters(*start.model, *start.lora, recipe.key(lora_use));
}

}  // namespace

fs::path model_folder(const Recipe& recipe) {
    const Json& model = *recipe.resolved.json().find("model");
    if (!model.is_string() || !fs::exists(model.as_string())) return {};
    fs::path path = model.as_string();
    // Adapters may have left to their base what goes with a model.
    if (models::is_adapter_folder(path) && tokenizers::tokenizer_files(path).empty() &&
        models::sidecar_files({.weights = path}).images.empty())
        path = models::base_of_adapters(path);
    return fs::is_directory(path) ? path : formats::folder_of(path);
}

models::OpenedModel initial_model(const Recipe& recipe, const InitialModelOptions& options) {
    const std::optional<models::ModelPlace> place = place_of(recipe);
    models::OpenedModel start{.device = options.device};
    if (place) {
        start.path = recipe.resolved.text("model");
        start.sidecar_files = models::sidecar_files(*place);
    }
    start.sidecar_files.tokenizer = find_tokenizer(recipe, place, options);
    if (!start.sidecar_files.tokenizer.empty())
        start.tokenizer = tokenizers::open_tokenizer(start.sidecar_files.tokenizer);
    if (recipe.lora && !starts_from_weights(recipe))
        recipe.resolved.reject("lora.rank", "adapters need a model that has learned: name a checkpoint");
    start.model = make_model(recipe, start.tokenizer.get(), options);
    if (!options.earlier && !recipe.resolved.text("weights").empty()) take_weights(*start.model, recipe);
    if (start.sidecar_files.images.empty())
        start.sidecar_files.image_processor = models::image_processor_json(start.model->config);
    convert(*start.model, recipe);
    models::describe(start);
    const Json& asked = start.model->generation_config;
    start.settings = models::read_generation_settings(
        Config(asked.is_null() ? Json::object() : asked, "generation_config.json"), start.config);
    if (options.device != cpu) nn::move_to(*start.model, options.device);
    if (recipe.lora) add_adapters(start, recipe, options);
    return start;
}

std::int64_t checkpoint_bytes(const Recipe& recipe, const models::OpenedModel& start) {
    std::int64_t elements = 0;
    for (const auto& [name, tensor] : nn::parameters(*start.model))
        if (!recipe.lora || name.find(".lora_") != name.npos) elements += tensor->elements();
    const std::int64_t moments = recipe.optimizer == OptimizerKind::AdamW ? 8 : 4;
    const std::int64_t master = recipe.precision == DType::F32 ? 0 : 4;
    return elements * (bytes_of(recipe.precision, 1) + moments + master);
}

}  // namespace tessera::training
