#include "tessera/models/new_head.h"

#include <algorithm>

#include "tessera/models/adapters/stored_module.h"
#include "tessera/models/catalog.h"
#include "tessera/models/class_names.h"
#include "tessera/models/encoder.h"
#include "tessera/models/vision/vision.h"
#include "tessera/nn/lora.h"

namespace tessera::models {
namespace {

// BertForMaskedLM, BertModel → Bert; a config without a name is called by its type: bert → Bert.
std::string family_of(const Config& config) {
    const std::vector<std::string> names =
        config.has("architectures") ? config.texts("architectures") : std::vector<std::string>();
    std::string name = names.empty() ? config.text("model_type") : names[0];
    if (names.empty()) name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
    for (const char* ending : {"For", "Model"})
        if (const std::size_t at = name.find(ending); at != name.npos && at > 0) return name.substr(0, at);
    return name;
}

DType float_dtype(const formats::TensorMap& tensors) {
    for (const auto& [name, tensor] : tensors)
        if (is_float(tensor.dtype())) return tensor.dtype();
    return DType::F32;
}

}  // namespace

std::vector<std::string> class_names(const Config& config) {
    if (const Vision* vision = architecture_of(config).vision)
        return vision->classes ? vision->classes(config) : std::vector<std::string>();
    return read_class_names(config, read_text_classes(config));
}

Config with_classes(const Config& config, const std::vector<std::string>& names) {
    const char* task = architecture_of(config).vision ? "ForImageClassification" : "ForSequenceClassification";
    formats::Json json = formats::Json::object(), by_number = formats::Json::object(),
                  by_name = formats::Json::object();
    // Said of the old head.
    for (const formats::Json::Member& member : config.json().members())
        if (member.key != "num_labels" && member.key != "problem_type") json.set(member.key, member.value);
    for (std::size_t i = 0; i < names.size(); ++i) {
        by_number.set(std::to_string(i), names[i]);
        by_name.set(names[i], i);
    }
    json.set("architectures", formats::Json::array().push_back(text_of(family_of(config), task)))
        .set("id2label", std::move(by_number))
        .set("label2id", std::move(by_name));
    return {std::move(json), config.source()};
}

bool can_classify(const Config& config) {
    const bool looks = architecture_of(config).vision != nullptr;
    return (looks ? architecture_of(config).vision->classes != nullptr : true) &&
           !head_layers(*build(with_classes(config, {"this", "that"}))).empty();
}

std::unique_ptr<Model> load_under_head(const formats::Checkpoint& checkpoint, const Config& config,
                                       std::uint64_t seed) {
    std::unique_ptr<Model> model = initialised(config, seed, float_dtype(checkpoint.tensors));
    formats::TensorMap theirs, filled;
    for (const auto& [name, tensor] : checkpoint.tensors) theirs.emplace(canonical_name(model->weights, name), tensor);
    const std::string& prefix = model->weights.optional_prefix;
    const bool is_bare =
        std::none_of(theirs.begin(), theirs.end(), [&](const auto& entry) { return entry.first.starts_with(prefix); });
    const std::map<std::string, nn::Linear*> head = head_layers(*model);
    for (const auto& [name, random] :
         checkpoint_tensors(*model, model->weights, [](const Tensor& value) { return value.detach(); })) {
        const auto found = theirs.find(is_bare && name.starts_with(prefix) ? name.substr(prefix.size()) : name);
        const bool is_there = found != theirs.end() && found->second.shape() == random.shape();
        check(is_there || head.contains(name.substr(0, name.rfind('.'))), checkpoint.folder.string(), ": ", name,
              found == theirs.end() ? " is missing" : " has another shape than config.json asks for");
        filled.emplace(name, is_there ? found->second : random);
    }
    load_weights(*model, model->weights, filled, checkpoint.folder.string());
    return model;
}

std::map<std::string, nn::Linear*> head_layers(Model& model) {
    std::map<std::string, nn::Linear*> layers;
    if (class_names(model.config).empty()) return layers;
    nn::for_each_linear(model, [&](const std::string& ours, nn::Linear& linear) {
        if (ours != "classifier" && !ours.starts_with("classifier.")) return;
        if (const std::optional<StoredModule> stored = stored_module(model.weights, ours))
            layers.emplace(stored->name, &linear);
    });
    return layers;
}

}  // namespace tessera::models
