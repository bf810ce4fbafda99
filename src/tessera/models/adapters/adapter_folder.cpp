// Reads and writes PEFT's folder.
#include <algorithm>
#include <cmath>
#include <set>

#include "tessera/formats/byte_reader.h"
#include "tessera/formats/find_file.h"
#include "tessera/models/adapters/adapted_layers.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/adapters/stored_module.h"
#include "tessera/models/catalog.h"
#include "tessera/models/new_head.h"

namespace tessera::models {
namespace {

namespace fs = std::filesystem;
using formats::Json;

constexpr const char* config_file = "adapter_config.json";
constexpr const char* model_config_file = "config.json";
constexpr const char* tensor_file = "adapter_model.safetensors";
// Far more than any classifier chooses between: a shape is no reason to name so many.
constexpr std::int64_t most_classes = 1 << 16;
constexpr std::string_view prefix = "base_model.model.";
constexpr std::string_view down_suffix = ".lora_A.weight", up_suffix = ".lora_B.weight";

// The last words of the adapted layers where they mean these layers and nothing else, no module around others either;
// otherwise the whole names. A name that has changed from version to version stands there both ways: PEFT looks for all
// and wants one.
std::set<std::string> target_modules(const WeightTable& table, const std::map<std::string, AdaptedLayer>& layers) {
    std::set<std::string> words, names;
    const auto word_of = [](const std::string& name) { return name.substr(name.rfind('.') + 1); };
    for (const auto& [name, layer] : layers)
        if (layer.has_adapter()) {
            words.insert({word_of(module_alias(table, name)), word_of(newest_name(table, name))});
            names.insert({module_alias(table, name), newest_name(table, name)});
        }
    const auto is_meant = [&](const std::string& name) {
        return words.contains(word_of(module_alias(table, name))) || words.contains(word_of(newest_name(table, name)));
    };
    const auto stands_around = [&](const std::string& name) {
        return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
            return module_alias(table, name).find(text_of(".", word, ".")) != std::string::npos;
        });
    };
    const bool is_exact = std::all_of(layers.begin(), layers.end(), [&](const auto& entry) {
        return (entry.second.has_adapter() || !is_meant(entry.first)) && !stands_around(entry.first);
    });
    return is_exact ? words : names;
}

// As PEFT calls the modules that are kept whole: a head of several layers by its own name.
std::set<std::string> modules_to_save(const WeightTable& table, const std::map<std::string, nn::Linear*>& head) {
    std::set<std::string> names;
    for (const auto& [name, linear] : head)
        names.insert(name.starts_with("classifier.") ? "classifier" : module_alias(table, name));
    return names;
}

Json task_of(Model& model) {
    if (!model.config.has("architectures")) return {};
    const std::vector<std::string> names = model.config.texts("architectures");
    const std::string name = names.empty() ? std::string() : names[0];
    if (name.ends_with("ForSequenceClassification")) return "SEQ_CLS";
    if (name.ends_with("ForTokenClassification")) return "TOKEN_CLS";
    if (name.ends_with("ForCausalLM") || name.ends_with("LMHeadModel")) return "CAUSAL_LM";
    if (!name.ends_with("ForConditionalGeneration") && !name.ends_with("MTModel")) return {};
    return model.has_encoder() ? "SEQ_2_SEQ_LM" : "CAUSAL_LM";
}

// Kinds of adapters that compute something else.
void check_plain(const Config& config) {
    if (config.text("peft_type") != "LORA")
        config.reject("peft_type", text_of("expected \"LORA\", found \"", config.text("peft_type"), "\""));
    for (const char* field : {"use_dora", "lora_bias", "use_qalora"})
        if (config.has(field) && config.boolean(field)) config.reject(field, "this kind of adapter is not supported");
    if (config.text("bias", "none") != "none") config.reject("bias", "only \"none\" is supported");
    for (const char* field : {"target_parameters", "trainable_token_indices", "megatron_config"})
        if (config.has(field) && !(config.json().find(field)->is_array() && config.json().find(field)->items().empty()))
            config.reject(field, "adapters that hold more than linear layers are not supported");
    const Json* start = config.json().find("init_lora_weights");
    if (start && start->is_string() && start->as_string() != "gaussian" && start->as_string() != "orthogonal" &&
        start->as_string() != "eva")
        config.reject("init_lora_weights",
                      text_of("\"", start->as_string(), "\" changes the base too, and is not supported"));
}

// What an adapter's change is multiplied by. Beyond the limit nothing of the weights would be left.
double factor_of(const Config& config, const WeightTable& table, const std::string& name, std::int64_t rank) {
    constexpr double most = 1e6;
    const auto checked = [&](const Config& fields, const std::string& field) {
        const double divisor = static_cast<double>(rank), alpha = fields.number(field);
        const double factor = alpha / (config.boolean("use_rslora", false) ? std::sqrt(divisor) : divisor);
        if (!(std::abs(factor) <= most))
            fields.reject(field, text_of(alpha, " for rank ", rank, " multiplies the adapters by ", factor,
                                         "; at most ", most, " is expected"));
        return factor;
    };
    const Config patterns = config.section_or_empty("alpha_pattern");
    for (const auto& [pattern, alpha] : patterns.json().members())
        if (is_called(table, name, pattern)) return checked(patterns, pattern);
    return checked(config, "lora_alpha");
}

// The file of this name, which must be there.
fs::path file_in(const fs::path& folder, const char* name) {
    const fs::path file = formats::find_file(folder, name);
    check(!file.empty(), folder.string(), ": no ", name, " in this folder");
    return file;
}

Config read_config_in(const fs::path& folder) {
    const fs::path file = file_in(folder, config_file);
    return {Json::read(file), file.string()};
}

double dropout_of(const Config& config) {
    const double dropout = config.number("lora_dropout", 0);
    if (!(dropout >= 0 && dropout < 1))
        config.reject("lora_dropout", text_of("expected 0 to below 1, found ", dropout));
    return dropout;
}

class Folder {
   public:
    Folder(Model& model, const fs::path& folder)
        : model_(model), source_(file_in(folder, tensor_file).string()), config_(read_config_in(folder)) {
        check_plain(config_);
        for (auto& [name, tensor] : formats::read_safetensors(source_).tensors) tensors_.emplace(plain(name), tensor);
    }

    void apply() {
        check(!tensors_.empty(), source_, ": holds no adapters");
        std::map<std::string, AdaptedLayer> layers = adaptable_layers(model_);
        const std::map<std::string, nn::Linear*> head = head_layers(model_);
        check_kept_whole(head);
        for (const auto& [name, tensor] : tensors_) {
            if (const auto whole = head.find(name.substr(0, name.rfind('.'))); whole != head.end()) {
                take_whole(*whole->second, name, tensor);
                continue;
            }
            if (name.ends_with(up_suffix)) {
                check(tensors_.contains(text_of(layer_of(name, up_suffix), down_suffix)), source_, ": ", name,
                      " has no lora_A beside it");
                continue;
            }
            if (is_read_past_adapters(name.substr(0, name.find(".lora_")))) continue;
            check(name.ends_with(down_suffix), source_, ": '", name,
                  "' is no part of a linear layer's adapter, nor of a classifier's head");
            const std::string layer = layer_of(name, down_suffix);
            const auto found = layers.find(layer);
            check(found != layers.end(), source_, ": the model has no linear layer '", layer, "' that can be adapted");
            attach(layer, found->second, tensor);
        }
    }

   private:
    // Without the prefix and the adapter's own name, and as the model's table writes it.
    std::string plain(const std::string& name) const {
        check(name.starts_with(prefix), source_, ": '", name, "' does not begin with ", prefix);
        std::string inner = name.substr(prefix.size());
        for (const char* part : {".lora_A.default.", ".lora_B.default."})
            if (const auto at = inner.find(part); at != inner.npos) inner.erase(at + 7, 8);
        for (const std::string_view part : {".modules_to_save.default", ".modules_to_save"})
            if (const auto at = inner.find(part); at != inner.npos) inner.erase(at, part.size());
        return canonical_name(model_.weights, inner);
    }

    static std::string layer_of(const std::string& name, std::string_view suffix) {
        return name.substr(0, name.size() - suffix.size());
    }

    // PEFT lists all names that heads have, whichever the model has.
    void check_kept_whole(const std::map<std::string, nn::Linear*>& head) const {
        if (!config_.has("modules_to_save")) return;
        for (const std::string& name : config_.texts("modules_to_save")) {
            const bool is_head = std::any_of(head.begin(), head.end(), [&](const auto& layer) {
                return text_of(".", module_alias(model_.weights, layer.first), ".").find(text_of(".", name, ".")) !=
                       std::string::npos;
            });
            if (!is_head && name != "classifier" && name != "score")
                config_.reject("modules_to_save", text_of("'", name, "' is no part of a classifier's head, and only ",
                                                          "that may be kept whole"));
        }
    }

    void take_whole(nn::Linear& layer, const std::string& name, const Tensor& value) const {
        Tensor& parameter = name.ends_with(".bias") ? layer.bias : layer.weight;
        check(parameter.defined() && value.shape() == parameter.shape(), source_, ": ", name, " has shape ",
              value.shape(), ", expected ", parameter.defined() ? parameter.shape() : Shape());
        check(is_float(value.dtype()), source_, ": ", name, ": not floats");
        parameter = value.to(parameter.dtype()).to(parameter.device()).clone();
    }

    void attach(const std::string& name, const AdaptedLayer& layer, const Tensor& down) const {
        const auto up = tensors_.find(text_of(name, up_suffix));
        check(up != tensors_.end(), source_, ": ", name, " has lora_A, but no lora_B");
        check(down.rank() == 2 && down.size(0) > 0 && down.size(1) == layer.in_width(), source_, ": ", name,
              ".lora_A has shape ", down.shape(), ", the layer takes ", layer.in_width());
        check(up->second.shape() == Shape{layer.out_width(), down.size(0)}, source_, ": ", name, ".lora_B has shape ",
              up->second.shape(), ", expected ", Shape{layer.out_width(), down.size(0)});
        check(is_float(down.dtype()) && is_float(up->second.dtype()), source_, ": ", name, ": not floats");
        const double factor = factor_of(config_, model_.weights, name, down.size(0));
        const Tensor& weight = layer.parts[0]->weight;
        const DType dtype = weight.dtype() == DType::F64 ? DType::F64 : DType::F32;
        const Tensor shared = down.to(dtype).to(weight.device()).clone();
        const std::vector<Tensor> rows = layer.split(up->second.to(dtype));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            auto adapter = std::make_unique<nn::Lora>(shared, rows[i].to(weight.device()).clone(), factor);
            adapter->dropout = dropout_of(config_);
            adapter->number = layer.number;
            layer.parts[i]->adapter = std::move(adapter);
        }
    }

    Model& model_;
    std::string source_;
    Config config_;
    formats::TensorMap tensors_;
};

}  // namespace

bool is_adapter_folder(const fs::path& path) {
    std::error_code error;
    return fs::is_directory(path, error) && fs::exists(path / config_file, error);
}

void save_adapters(Model& model, const AdapterSettings& settings, const std::string& base, const fs::path& folder) {
    const std::map<std::string, AdaptedLayer> layers = adaptable_layers(model);
    formats::NamedTensors tensors;
    bool transposed = false;
    for (const auto& [name, layer] : layers) {
        if (!layer.has_adapter()) continue;
        std::vector<Tensor> ups;
        for (const nn::Linear* part : layer.parts)
            ups.push_back(static_cast<const nn::Lora&>(*part->adapter).up.detach());
        const std::string full = text_of(prefix, module_alias(model.weights, name));
        tensors.emplace_back(text_of(full, down_suffix),
                             static_cast<const nn::Lora&>(*layer.parts[0]->adapter).down.detach());
        tensors.emplace_back(text_of(full, up_suffix), layer.joined(ups));
        transposed = transposed || layer.transposed;
    }
    Json whole;
    if (settings.head) {
        const std::map<std::string, nn::Linear*> head = head_layers(model);
        whole = Json::array();
        for (const std::string& name : modules_to_save(model.weights, head)) whole.push_back(name);
        for (const auto& [name, linear] : head) {
            const std::string running = module_alias(model.weights, name);
            tensors.emplace_back(text_of(prefix, running, ".weight"), linear->weight.detach());
            if (linear->bias.defined()) tensors.emplace_back(text_of(prefix, running, ".bias"), linear->bias.detach());
        }
    }
    Json targets = Json::array();
    for (const std::string& target : target_modules(model.weights, layers)) targets.push_back(target);
    const bool is_whole = settings.alpha == std::floor(settings.alpha) && std::abs(settings.alpha) < 1e15;
    Json config = Json::object();
    config.set("peft_type", "LORA")
        .set("task_type", task_of(model))
        .set("base_model_name_or_path", base)
        .set("r", settings.rank)
        .set("lora_alpha", is_whole ? Json(static_cast<std::int64_t>(settings.alpha)) : Json(settings.alpha))
        .set("lora_dropout", settings.dropout)
        .set("target_modules", std::move(targets))
        .set("bias", "none")
        .set("fan_in_fan_out", transposed)
        .set("inference_mode", true)
        .set("init_lora_weights", true)
        .set("use_rslora", false)
        .set("use_dora", false)
        .set("modules_to_save", std::move(whole));
    fs::create_directories(folder);
    if (settings.head) model.config.json().write(folder / model_config_file);
    formats::write_safetensors(folder / tensor_file, tensors, {{"format", "pt"}});
    config.write(folder / config_file);
}

AdapterSettings read_adapter_settings(const fs::path& folder) {
    const Config config = read_config_in(folder);
    check_plain(config);
    for (const char* field : {"rank_pattern", "alpha_pattern"})
        if (!config.section_or_empty(field).json().members().empty())
            config.reject(field, "adapters of several ranks or scales cannot be written again");
    AdapterSettings settings{.rank = config.positive("r"), .alpha = config.number("lora_alpha")};
    if (config.boolean("use_rslora", false)) settings.alpha *= std::sqrt(static_cast<double>(settings.rank));
    settings.dropout = dropout_of(config);
    settings.head = config.has("modules_to_save") && !config.texts("modules_to_save").empty();
    return settings;
}

void apply_adapters(Model& model, const fs::path& folder) { Folder(model, folder).apply(); }

namespace {

// Of a folder of PEFT's own, which has no names for classes: as many as its head tells apart. None where that is the
// base's number, or where there is no head.
std::vector<std::string> numbered_classes(const Config& base, const fs::path& folder) {
    const std::string source = file_in(folder, tensor_file).string();
    const std::size_t known = class_names(base).size();
    std::vector<std::string> names;
    for (const auto& [name, tensor] : formats::read_safetensors(source).tensors) {
        const bool is_head = name.ends_with(".classifier.weight") || name.ends_with(".classifier.out_proj.weight");
        if (!is_head || tensor.rank() != 2 || tensor.size(0) == static_cast<std::int64_t>(known)) continue;
        check(tensor.elements() > 0 && tensor.size(0) <= most_classes, source, ": ", formats::shown(name),
              " has shape ", tensor.shape(), ": expected a row for each of 1 to ", most_classes, " classes");
        check(names.empty(), source, ": ", formats::shown(name), " is a second head beside another");
        for (std::int64_t i = 0; i < tensor.size(0); ++i) names.push_back(text_of("LABEL_", i));
    }
    return names;
}

// What a file says of its head, before a model is made for it.
void check_head(const Config& config, const fs::path& folder) {
    const std::unique_ptr<Model> model = build(config);
    const formats::TensorMap tensors = formats::read_safetensors(file_in(folder, tensor_file)).tensors;
    for (const auto& [name, layer] : head_layers(*model)) {
        const std::string full = text_of(prefix, module_alias(model->weights, name), ".weight");
        const auto found = tensors.find(full);
        check(found == tensors.end() || found->second.shape() == layer->weight.shape(), (folder / tensor_file).string(),
              ": ", formats::shown(full), " has shape ", found == tensors.end() ? Shape() : found->second.shape(),
              ", expected ", layer->weight.shape());
    }
}

}  // namespace

Config adapted_config(const Config& base, const fs::path& folder) {
    std::vector<std::string> names;
    if (const fs::path own = formats::find_file(folder, model_config_file); !own.empty())
        names = class_names(Config(Json::read(own), own.string()));
    else
        names = numbered_classes(base, folder);
    if (names.empty() || names == class_names(base)) return base;
    Config config = with_classes(base, names);
    check_head(config, folder);
    return config;
}

std::unique_ptr<Model> load_adapted(const formats::Checkpoint& base, const fs::path& folder) {
    const Config config = adapted_config(base.config, folder);
    const bool is_new = class_names(config) != class_names(base.config);
    std::unique_ptr<Model> model = is_new ? load_under_head(base, config, 0) : load(base);
    apply_adapters(*model, folder);
    return model;
}

fs::path base_of_adapters(const fs::path& folder) {
    const Config config = read_config_in(folder);
    const std::string base = config.text("base_model_name_or_path");
    const auto reject = [&](const auto&... reason) {
        config.reject("base_model_name_or_path", text_of(formats::shown(base), reason...));
    };
    if (base.empty() || base.find('\0') != base.npos) reject(" is no place of a model");
    std::error_code error;
    fs::path place = base;
    if (!fs::exists(place, error)) place = folder / base;
    if (!fs::exists(place, error))
        throw NoBase(text_of(config.source(), ": base_model_name_or_path: ", formats::shown(base), " is not there"));
    if (fs::equivalent(place, folder, error)) reject(" is this folder itself");
    if (is_adapter_folder(place)) reject(" holds adapters itself; merge them with their base first");
    return place;
}

}  // namespace tessera::models
