#include "tessera/models/adapters/adapters.h"

#include <cmath>
#include <map>
#include <set>

#include "tessera/models/adapters/adapted_layers.h"
#include "tessera/models/adapters/stored_module.h"
#include "tessera/models/new_head.h"
#include "tessera/ops/random.h"
#include "tessera/ops/reduce.h"
#include "tessera/tensor/tape.h"

namespace tessera::models {
namespace {

using Layers = std::map<std::string, AdaptedLayer>;

bool is_meant(const WeightTable& table, const std::string& name, const std::string& target, const AdaptedLayer& layer) {
    return (target == "all-linear" && layer.is_usual) || is_called(table, name, target);
}

std::string words_of(const Layers& layers) {
    std::set<std::string> words;
    for (const auto& [name, layer] : layers) words.insert(name.substr(name.rfind('.') + 1));
    std::string text;
    for (const std::string& word : words) text += text_of(text.empty() ? "" : ", ", word);
    return text;
}

void attach(const AdaptedLayer& layer, const AdapterSettings& settings, RandomKey key) {
    const Tensor& weight = layer.parts[0]->weight;
    const DType dtype = weight.dtype() == DType::F64 ? DType::F64 : DType::F32;
    const double bound = 1 / std::sqrt(static_cast<double>(layer.in_width()));  // as nn.Linear starts
    Tensor down = ops::uniform({settings.rank, layer.in_width()}, -bound, bound, key, dtype).to(weight.device());
    down.set_requires_grad();
    for (nn::Linear* part : layer.parts) {
        Tensor up = Tensor::zeros({part->out_width(), settings.rank}, down.dtype(), down.device());
        up.set_requires_grad();
        auto adapter =
            std::make_unique<nn::Lora>(down, std::move(up), settings.alpha / static_cast<double>(settings.rank));
        adapter->dropout = settings.dropout;
        adapter->number = layer.number;
        part->adapter = std::move(adapter);
    }
}

}  // namespace

void attach_adapters(Model& model, const AdapterSettings& settings, RandomKey key) {
    constexpr std::int64_t most_rank = 1 << 16;
    check(settings.rank >= 1 && settings.rank <= most_rank, "lora: expected a rank of 1 to ", most_rank, ", found ",
          settings.rank);
    const Layers layers = adaptable_layers(model);
    check(settings.dropout >= 0 && settings.dropout < 1, "lora: expected a dropout from 0 to below 1, found ",
          settings.dropout);
    const auto head = settings.head ? head_layers(model) : std::map<std::string, nn::Linear*>();
    std::set<std::string> met;
    for (const auto& [name, layer] : layers) {
        bool wanted = false;
        for (const std::string& target : settings.targets)
            if (is_meant(model.weights, name, target, layer)) {
                met.insert(target);
                wanted = true;
            }
        if (wanted && !head.contains(name)) attach(layer, settings, key.child(layer.number));
    }
    check(!settings.targets.empty(), "lora: no targets; there are: all-linear, ", words_of(layers));
    for (const std::string& target : settings.targets)
        check(met.contains(target), "lora: no linear layer is called '", target, "'; there are: all-linear, ",
              words_of(layers));
}

bool has_adapters(Model& model) {
    bool has = false;
    nn::for_each_linear(model, [&](const std::string&, nn::Linear& linear) { has = has || linear.adapter; });
    return has;
}

void let_adapters_learn(Model& model, bool and_head) {
    nn::set_requires_grad(model, false);
    if (and_head)
        for (const auto& [name, linear] : head_layers(model)) nn::set_requires_grad(*linear, true);
    nn::for_each_linear(model, [](const std::string&, nn::Linear& linear) {
        if (linear.adapter) nn::set_requires_grad(*linear.adapter, true);
    });
}

void merge_adapters(Model& model) {
    std::map<std::string, nn::Linear*> adapted;
    nn::for_each_linear(model, [&](const std::string& name, nn::Linear& linear) {
        if (linear.adapter) adapted.emplace(name, &linear);
    });
    nn::merge_lora(model);
    const NoGrad no_grad;
    for (const auto& [name, linear] : adapted)
        check(std::isfinite(ops::sum(linear->weight.to(DType::F64)).item()), "lora: ", name,
              ".weight: the adapter makes numbers of it that are not finite");
}

}  // namespace tessera::models
