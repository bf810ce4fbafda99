#include "tessera/training/run/initial_model.h"

#include <algorithm>
#include <map>

#include "tessera/core/error.h"
#include "tessera/formats/atomic_file.h"
#include "tessera/formats/find_file.h"
#include "tessera/formats/own_files.h"
#include "tessera/models/catalog.h"
#include "tessera/models/class_names.h"
#include "tessera/models/dtype_names.h"
#include "tessera/models/import/gguf_checkpoint.h"
#include "tessera/models/new_head.h"
#include "tessera/models/stored_weights.h"
#include "tessera/models/vision/vision.h"
#include "tessera/training/objectives/registration.h"
#include "tessera/training/tokenizer_spec.h"

namespace tessera::training {
namespace {

namespace fs = std::filesystem;
using formats::Config;
using formats::Json;

using Files = std::vector<fs::path>;

// How a model's images are prepared.
Files image_sidecar_files(const fs::path& folder) {
    Files files;
    for (const char* name : {"preprocessor_config.json", "processor_config.json"})
        if (const fs::path file = formats::find_file(folder, name); !folder.empty() && !file.empty())
            files.push_back(file);
    return files;
}

void copy_files(const Files& files, const fs::path& folder) {
    for (const fs::path& file : files) {
        const fs::path copy = folder / file.filename();
        std::error_code error;
        if (!fs::equivalent(file, copy, error)) formats::copy_file(file, copy);
    }
}

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
// data.
fs::path own_tokenizer(const Recipe& recipe, const InitialModelOptions& options) {
    const fs::path& tokenizer_dir = options.tokenizer_dir;
    if (tokenizer_dir.empty() && is_made(recipe))
        recipe.resolved.reject("tokenizer", text_of("one of ", recipe.tokenizer, " is made in training only"));
    if (tokenizer_dir.empty()) return {};
    const fs::path folder = tokenizer_dir / "tokenizer";
    if (options.earlier && fs::exists(folder)) return folder;
    formats::remove_own(folder, formats::is_tokenizer_file);
    const std::string weights = recipe.resolved.text("weights");
    if (!weights.empty() && !tokenizers::tokenizer_files(weights).empty()) {
        fs::create_directories(folder);
        tokenizers::copy_tokenizer(weights, folder);
    } else if (is_made(recipe)) {
        make_tokenizer({.kind = *tokenizer_kind(recipe.tokenizer),
                        .data = recipe.train_data,
                        .vocabulary = recipe.resolved.positive("vocabulary"),
                        .sentinels = objective_of(recipe).sentinels,
                        .report = options.on_preparation},
                       folder);
    }
    return folder;
}

// Where a checkpoint's own tokenizer is: in its folder, or for a file of weights in it or beside it.
fs::path own_place(const fs::path& model, const fs::path& home) {
    if (model.extension() == ".gguf" && models::holds_tokenizer(model)) return model;
    if (model.extension() == ".bin" && tokenizers::tokenizer_files(home).empty()) return model;
    return home;
}

// The folder or the file of the tokenizer, if there is one.
fs::path tokenizer_place(const Recipe& recipe, const fs::path& home, const InitialModelOptions& options) {
    if (is_made(recipe) || (recipe.tokenizer.empty() && home.empty())) return own_tokenizer(recipe, options);
    if (recipe.tokenizer.empty()) return own_place(recipe.resolved.text("model"), home);
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

void load_checkpoint(InitialModel& start, const Recipe& recipe, const std::vector<std::string>& classes) {
    const fs::path path = recipe.resolved.text("model");
    const Config config = models::config_named(path.string());
    if (classes.empty() || tells_apart(config, classes) || !models::can_classify(config)) {
        start.model = models::load(path);
        return;
    }
    start.new_head = with_gaps_filled(recipe, classes);
    start.model =
        models::load_under_head(models::open(path), models::with_classes(config, start.new_head), recipe.seed);
}

}  // namespace

fs::path model_folder(const Recipe& recipe) {
    const Json& model = *recipe.resolved.json().find("model");
    if (!model.is_string() || !fs::exists(model.as_string())) return {};
    fs::path path = model.as_string();
    // Adapters may have left to their base what goes with a model.
    if (models::is_adapter_folder(path) && tokenizers::tokenizer_files(path).empty() &&
        image_sidecar_files(path).empty())
        path = models::base_of_adapters(path);
    return fs::is_directory(path) ? path : formats::folder_of(path);
}

InitialModel initial_model(const Recipe& recipe, const InitialModelOptions& options) {
    const std::optional<fs::path>& earlier = options.earlier;
    const std::vector<std::string>& classes = options.classes;
    InitialModel start{.lora = recipe.lora};
    if (start.lora) start.lora->head = !classes.empty();
    const fs::path home = model_folder(recipe);
    const fs::path place = tokenizer_place(recipe, home, options);
    if (fs::is_regular_file(place) || !recipe.tokenizer.empty() ||
        (!place.empty() && !tokenizers::tokenizer_files(place).empty())) {
        start.tokenizer = tokenizers::open_tokenizer(place);
        start.tokenizer_place = place;
    }
    start.sidecar_files = image_sidecar_files(home);
    if (recipe.lora && !starts_from_weights(recipe))
        recipe.resolved.reject("lora.rank", "adapters need a model that has learned: name a checkpoint");
    if (earlier && !recipe.lora) {
        start.model = models::load(*earlier);
        if (!starts_from_weights(recipe)) refuse_other_config(recipe, config_of(recipe), start.model->config);
    } else if (starts_from_weights(recipe)) {
        load_checkpoint(start, recipe, classes);
        // A checkpoint's own tokenizer may have tokens that its model never sees.
        if (!recipe.tokenizer.empty()) refuse_small_vocabulary(start.model->config, start.tokenizer.get());
    } else {
        const Config config =
            with_classes_of_data(recipe, with_vocabulary(config_of(recipe), start.tokenizer.get()), classes);
        refuse_small_vocabulary(config, start.tokenizer.get());
        start.model = models::initialised(config, recipe.seed, DType::F32);
    }
    if (!earlier && !recipe.resolved.text("weights").empty()) take_weights(*start.model, recipe);
    if (image_sidecar_files(home).empty())
        start.image_processor_json = models::image_processor_json(start.model->config);
    convert(*start.model, recipe);
    if (options.device != cpu) nn::move_to(*start.model, options.device);
    if (!recipe.lora) return start;
    start.base = fs::absolute(recipe.resolved.text("model")).lexically_normal().string();
    if (earlier)
        models::apply_adapters(*start.model, *earlier);
    else
        models::attach_adapters(*start.model, *start.lora, recipe.key(lora_use));
    return start;
}

static void write_sidecar_files(const InitialModel& start, const fs::path& folder) {
    if (start.tokenizer) tokenizers::copy_tokenizer(start.tokenizer_place, folder);
    copy_files(start.sidecar_files, folder);
    if (!start.image_processor_json.is_null()) start.image_processor_json.write(folder / "preprocessor_config.json");
}

void InitialModel::save(const fs::path& folder) const {
    if (lora)
        models::save_adapters(*model, *lora, base, folder);
    else
        models::save(*model, folder);
    if (kept_sidecar_files.empty()) return write_sidecar_files(*this, folder);
    for (const auto& entry : fs::directory_iterator(kept_sidecar_files))
        formats::copy_file(entry.path(), folder / entry.path().filename());
}

void InitialModel::keep_sidecar_files(const fs::path& folder) {
    model->config.json().dump();  // all of it is UTF-8
    model->generation_config.dump();
    Json(base).dump();
    formats::remove_own(folder, formats::is_model_file);
    fs::create_directories(folder);
    write_sidecar_files(*this, folder);
    kept_sidecar_files = folder;
}

void copy_sidecar_files(const fs::path& model, const fs::path& to) {
    const fs::path home = fs::is_directory(model) ? model : formats::folder_of(model), place = own_place(model, home);
    if (fs::is_regular_file(place) || !tokenizers::tokenizer_files(place).empty())
        tokenizers::copy_tokenizer(place, to);
    copy_files(image_sidecar_files(home), to);
}

std::int64_t checkpoint_bytes(const Recipe& recipe, const InitialModel& start) {
    std::int64_t elements = 0;
    for (const auto& [name, tensor] : nn::parameters(*start.model))
        if (!recipe.lora || name.find(".lora_") != name.npos) elements += tensor->elements();
    const std::int64_t moments = recipe.optimizer == OptimizerKind::AdamW ? 8 : 4;
    const std::int64_t master = recipe.precision == DType::F32 ? 0 : 4;
    return elements * (bytes_of(recipe.precision, 1) + moments + master);
}

}  // namespace tessera::training
