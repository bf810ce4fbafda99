#include "tessera/models/catalog.h"

#include <algorithm>
#include <cstring>

#include "tessera/formats/find_file.h"
#include "tessera/models/adapters/adapters.h"
#include "tessera/models/import/gguf_checkpoint.h"
#include "tessera/models/import/llama2c_checkpoint.h"
#include "tessera/models/presets.h"
#include "tessera/models/settings.h"

namespace tessera::models {
Config config_named(const std::string& name) {
    const auto known = presets();
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const Preset& preset) { return name == preset.name; });
    if (found != known.end()) return {formats::Json::parse(found->text, name), name};
    std::error_code error;
    if (!std::filesystem::exists(name, error) && !error) throw UnknownModel(name);
    formats::check_exists(name);
    if (is_adapter_folder(name)) return adapted_config(config_named(base_of_adapters(name).string()), name);
    const bool is_weights = !std::filesystem::is_directory(name) && std::filesystem::path(name).extension() != ".json";
    if (std::filesystem::path(name).extension() == ".gguf") return read_gguf_config(name);
    return is_weights ? open(name).config : formats::read_config(name);
}

formats::Checkpoint open(const std::filesystem::path& path) {
    formats::check_exists(path);
    if (std::filesystem::is_directory(path)) return formats::open_checkpoint(path);
    if (path.extension() == ".gguf") return open_gguf(path);
    if (path.extension() == ".bin") return open_llama2c(path);
    fail(path.string(), ": expected a folder of the Hub's layout, a .gguf file or a .bin file of llama2.c");
}

std::vector<const Architecture*> catalog() {
    std::vector<const Architecture*> sorted = RegisterArchitecture::all();
    std::sort(sorted.begin(), sorted.end(), [](const Architecture* a, const Architecture* b) {
        return std::strcmp(a->model_type, b->model_type) < 0;
    });
    return sorted;
}

const Architecture& architecture_of(const Config& config) {
    const std::string type = config.text("model_type");
    std::string known;
    for (const Architecture* entry : catalog()) {
        if (type == entry->model_type) return *entry;
        known += text_of(known.empty() ? "" : ", ", entry->model_type);
    }
    config.reject("model_type", text_of("'", type, "' is not known; there are: ", known));
}

std::unique_ptr<Model> build(const Config& config) {
    std::unique_ptr<Model> model = architecture_of(config).build(config);
    if (const formats::Json* padding = config.json().find("pad_token_id"); padding && padding->is_integer())
        model->padding_token = std::max<std::int64_t>(0, padding->as_integer());
    // Each size is within its limit; so that sums of parameters and of bytes fit 64 bits, their product is too.
    constexpr std::int64_t most = std::int64_t{1} << 50;
    double parameters = 0;
    for (const auto& [name, tensor] : nn::parameters(*model)) parameters += static_cast<double>(tensor->elements());
    if (parameters > static_cast<double>(most))
        config.reject("model_type", text_of("the sizes give ", parameters, " parameters, more than ", most));
    return model;
}

std::unique_ptr<Model> initialised(const Config& config, std::uint64_t seed, DType dtype,
                                   const std::function<void(const Tensor& parameter)>& on_parameter) {
    std::unique_ptr<Model> model = build(config);
    for (const auto& [name, tensor] : nn::parameters(*model))
        if (!is_integer(tensor->dtype())) *tensor = Tensor::deferred(tensor->shape(), dtype);
    nn::initialise(*model, {.seed = seed}, {read_init_std(config), model->init_stds}, on_parameter);
    return model;
}

std::unique_ptr<Model> load(const formats::Checkpoint& checkpoint) {
    std::unique_ptr<Model> model = build(checkpoint.config);
    load_weights(*model, model->weights, checkpoint.tensors, checkpoint.folder.string());
    const formats::Json& asked = checkpoint.generation_config.json();
    if (!asked.members().empty()) model->generation_config = asked;
    return model;
}

std::unique_ptr<Model> load(const std::filesystem::path& path) {
    return is_adapter_folder(path) ? load_adapted(open(base_of_adapters(path)), path) : load(open(path));
}

void save(Model& model, const std::filesystem::path& folder, formats::WriteOptions options) {
    options.generation_config = model.generation_config;
    formats::write_checkpoint(
        folder, model.config,
        checkpoint_tensors(model, model.weights, [](const Tensor& value) { return value.detach(); }), options);
}

}  // namespace tessera::models
